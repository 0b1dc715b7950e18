// SPDX-License-Identifier: Apache-2.0
// Extents and strides from integers of any type, including values that do not fit in index_t.
#include <slicesort/slicing_sort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace ss = slicesort;
using ss::extents3, ss::extents4, ss::stack_extents, ss::strides3, ss::strides4, ss::index_t;

namespace {

constexpr std::size_t two = 2, three = 3, five = 5, too_many = ~std::size_t{0};
constexpr index_t largest = std::numeric_limits<index_t>::max();

static_assert(extents3{two, 3, std::uint8_t{5}} == extents3{2, 3, 5});
static_assert(extents4{7u, two, three, five} == extents4{7, 2, 3, 5});
static_assert(stack_extents{7u, two, three, five} == stack_extents{7, 2, 3, 5});
static_assert(strides3{two, std::int8_t{-3}, five} == strides3{2, -3, 5});
static_assert(strides4{two, 3u, 5, 7LL} == strides4{2, 3, 5, 7});
static_assert(extents3{two, too_many, five} == extents3{2, largest, 5});
static_assert(extents3{two, (too_many >> 1) + 1, five}.length == largest);
static_assert(extents3{two, too_many >> 1, five}.length == largest);
static_assert(row_major(extents3{two, too_many, five}).channels == 1);
static_assert(extents4{too_many, too_many, too_many, 0}.size() == 0);
static_assert(stack_extents{too_many, too_many, too_many, 0}.size() == 0);
static_assert(!std::is_constructible_v<extents3, double, int, int>);
static_assert(std::is_trivially_copyable_v<strides3> && std::is_trivially_copyable_v<strides4>);

}  // namespace

TEST_CASE("views with extents of type std::size_t") {
  std::vector<float> data(30);
  std::size_t batch = two, length = three, channels = five;
  ss::tensor3<float> const x(data.data(), {batch, length, channels});
  ss::tensor3<float> const y{data.data(), {batch, length, 5}, {length * channels, channels, 1}};
  ss::tensor4<float> const z(data.data(), {1, batch, length, channels},
                             {30, length * channels, channels, std::size_t{1}});
  ss::tensor1<float> const w{data.data(), data.size()};
  ss::tensor1<float> const every_other(data.data(), data.size() / 2, two);
  CHECK(x.strides() == strides3{15, 5, 1});
  CHECK(y.strides() == x.strides());
  CHECK(z.strides() == strides4{30, 15, 5, 1});
  CHECK(w.size() == 30);
  CHECK(&every_other(1) == &data[2]);
  CHECK(ss::view(data, {batch, length, channels}).extents() == x.extents());
}

TEST_CASE(
    "an extent that does not fit in index_t is rejected, not converted to a negative number") {
  std::vector<float> data(30);
  ss::exec::host const exec;
  ss::slicing_sort<> const op;
  for (std::size_t length : {too_many, (too_many >> 1) + 1, too_many - 1}) {
    ss::tensor3<float> const x(data.data(), {two, length, five});
    ss::status const status = op.forward(ss::exec::dry_run{exec}, x, x, ss::no_saved);
    CHECK(std::string(status.message) ==
          "slicing_sort.forward: x [2, 9223372036854775807, 5] spans more than 2^63 bytes or 2^57 "
          "elements, must span less");
    CHECK(!op.workspace_bytes<float>(ss::exec::dry_run{exec}, {two, length, five}));
  }
  // The strides of this shape overflow to a negative number.
  ss::tensor3<float> const wide(data.data(), {2, 3, std::size_t{1} << 62});
  ss::status const status = op.forward(ss::exec::dry_run{exec}, wide, wide, ss::no_saved);
  CHECK(std::string(status.message) ==
        "slicing_sort.forward: x [2, 3, 4611686018427387904] spans more than 2^63 bytes or 2^57 "
        "elements, must span less");
}
