// SPDX-License-Identifier: Apache-2.0
// Containers as tensors and as workspaces: ranks, const, wrong sizes, pointer classes.
#include "linked_operators.hpp"
#include "support/error_message.hpp"

#include <slicesort/slicing_sort.hpp>
#include <slicesort/view.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

using support::run_and_catch, support::thrown, support::error_message;
namespace ss = slicesort;

namespace {

// A pointer class and a container as in Thrust, whose memory must not be read.
template <class T>
struct device_pointer {
  T* address;
  T* get() const { return address; }
};
template <class T>
struct device_vector {
  T* address;
  std::size_t count;
  device_pointer<T> data() { return {address}; }
  device_pointer<T const> data() const { return {address}; }
  std::size_t size() const { return count; }
};

template <class Container>
using rank3 = decltype(ss::view(std::declval<Container&>(), ss::extents3{}));
template <class Container>
using rank4 = decltype(ss::view(std::declval<Container&>(), ss::extents4{}));
template <class Container>
using rank1 = decltype(ss::view(std::declval<Container&>()));

using floats = std::vector<float>;
static_assert(std::is_same_v<rank3<floats>, ss::tensor3<float>>);
static_assert(std::is_same_v<rank3<floats const>, ss::tensor3<float const>>);
static_assert(std::is_same_v<rank4<floats>, ss::tensor4<float>>);
static_assert(std::is_same_v<rank4<floats const>, ss::tensor4<float const>>);
using stack = decltype(ss::view(std::declval<floats&>(), ss::stack_extents{}));
static_assert(std::is_same_v<stack, ss::tensor_stack<float>>);
static_assert(std::is_same_v<rank1<floats>, ss::tensor1<float>>);
static_assert(std::is_same_v<rank1<floats const>, ss::tensor1<float const>>);
static_assert(std::is_same_v<rank3<std::array<double, 6>>, ss::tensor3<double>>);
static_assert(std::is_same_v<rank1<float[6]>, ss::tensor1<float>>);
static_assert(std::is_same_v<rank3<device_vector<float>>, ss::tensor3<float>>);
static_assert(std::is_same_v<rank3<device_vector<float> const>, ss::tensor3<float const>>);

template <class From>
constexpr bool is_workspace = std::is_convertible_v<From, ss::workspace>;
static_assert(is_workspace<std::vector<std::byte>&>);
static_assert(is_workspace<device_vector<float>&>);
static_assert(!is_workspace<std::vector<std::byte>>, "a temporary would not last");
static_assert(!is_workspace<float&>);

}  // namespace

TEST_CASE("a view has the container's elements in row-major order") {
  std::vector<float> x(24);
  auto const three = ss::view(x, {2, 4, 3});
  CHECK(three.data() == x.data());
  CHECK(three.extents() == ss::extents3{2, 4, 3});
  CHECK(three.strides() == ss::strides3{12, 3, 1});
  auto const four = ss::view(x, {2, 1, 4, 3});
  CHECK(four.data() == x.data());
  CHECK(four.extents() == ss::extents4{2, 1, 4, 3});
  CHECK(four.strides() == ss::strides4{12, 12, 3, 1});
  auto const stack = ss::view(x, ss::stack_extents{2, 1, 4, 3});
  CHECK(stack.data() == x.data());
  CHECK(stack.extents() == ss::stack_extents{2, 1, 4, 3});
  auto const flat = ss::view(x);
  CHECK(flat.data() == x.data());
  CHECK(flat.size() == 24);
  CHECK(flat.stride() == 1);
}

TEST_CASE("extents may be integers of any type") {
  std::vector<float> const x(24);
  std::size_t const batch = 2, length = 4;
  std::int32_t const channels = 3;
  CHECK(ss::view(x, {batch, length, channels}).extents() == ss::extents3{2, 4, 3});
  CHECK(ss::view(x, {batch, 1, length, channels}).extents() == ss::extents4{2, 1, 4, 3});
}

TEST_CASE("containers of every kind") {
  std::array<std::uint16_t, 6> array{};
  CHECK(ss::view(array, {1, 3, 2}).data() == array.data());
  double plain[6] = {};
  CHECK(ss::view(plain, {1, 3, 2}).data() == plain);
  CHECK(ss::view(plain).size() == 6);
  device_vector<float> const device_memory{reinterpret_cast<float*>(0x40), 6};
  CHECK(ss::view(device_memory, {1, 3, 2}).data() == device_memory.address);
  CHECK(ss::view(device_memory).data() == device_memory.address);
  std::vector<float> empty;
  CHECK(ss::view(empty, {0, 4, 2}).extents().empty());
  CHECK(ss::view(empty).size() == 0);
}

TEST_CASE("a container of the wrong size is rejected") {
  std::vector<float> const six(6), empty;
  auto const error_of_view = [](auto const& x, auto extents) {
    auto const [exception, text] = run_and_catch([&] { ss::view(x, extents); });
    CHECK(exception == thrown::argument);
    return text;
  };
  CHECK(error_of_view(six, ss::extents3{1, 4, 2}) ==
        "view: container.size is 6, must be 8 (extents [1, 4, 2])");
  CHECK(error_of_view(six, ss::extents3{1, 2, 2}) ==
        "view: container.size is 6, must be 4 (extents [1, 2, 2])");
  CHECK(error_of_view(six, ss::extents3{0, 2, 2}) ==
        "view: container.size is 6, must be 0 (extents [0, 2, 2])");
  CHECK(error_of_view(empty, ss::extents4{2, 1, 4, 2}) ==
        "view: container.size is 0, must be 16 (extents [2, 1, 4, 2])");
  CHECK(error_of_view(empty, ss::stack_extents{2, 1, 4, 2}) ==
        "view: container.size is 0, must be 16 (extents [2, 1, 4, 2])");
  ss::index_t const huge = ss::index_t{1} << 40;
  CHECK(error_of_view(six, ss::extents3{huge, huge, 2}) ==
        "view: container.size is 6, must be 9223372036854775807 (extents [1099511627776, "
        "1099511627776, 2])");
  CHECK(error_message([&] { ss::view(empty, {huge, huge, 0}); }) == "");
}

TEST_CASE("negative extents are rejected by the operator") {
  std::vector<float> x(6);
  auto const v = ss::view(x, {-1, 3, -2});
  CHECK(error_message([&] {
          ss::slicing_sort<>{}.forward(ss::exec::host{}, v, v, ss::no_saved);
        }) == "slicing_sort.forward: x.batch is -1, must not be negative");
}

TEST_CASE("a container is a workspace of all its bytes") {
  std::vector<float> floats_memory(6);
  ss::workspace const float_workspace = floats_memory;
  CHECK(float_workspace.data == floats_memory.data());
  CHECK(float_workspace.bytes == 24);
  std::byte bytes[10];
  ss::workspace const byte_workspace = bytes;
  CHECK(byte_workspace.data == bytes);
  CHECK(byte_workspace.bytes == 10);
  device_vector<double> device_memory{reinterpret_cast<double*>(0x40), 6};
  ss::workspace const device_workspace = device_memory;
  CHECK(device_workspace.data == device_memory.address);
  CHECK(device_workspace.bytes == 48);
}

TEST_CASE("vectors through an operator") {
  ss::extents3 const shape{1, 4, 2};
  std::vector<float> const x = {3, 10, 1, 40, 2, 30, 0, 20};
  std::vector<float> y(8), dx(8);
  std::vector<std::uint16_t> perm(8);
  std::vector<ss::index_t> const lengths = {3};
  ss::slicing_sort<> const op;
  ss::exec::host const exec;
  std::vector<std::byte> scratch(op.workspace_bytes<float>(exec, shape));
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), {ss::view(perm, shape)}, scratch,
             {ss::view(lengths)});
  CHECK(y == std::vector<float>{1, 10, 2, 30, 3, 40, 0, 20});
  CHECK(perm == std::vector<std::uint16_t>{1, 0, 2, 2, 0, 1, 3, 3});
  op.backward(exec, ss::view(y, shape), {ss::view(perm, shape)}, ss::view(dx, shape), scratch,
              {ss::grad_mode::overwrite, ss::view(lengths)});
  CHECK(dx == x);
}
