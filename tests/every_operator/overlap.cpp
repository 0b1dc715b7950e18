// SPDX-License-Identifier: Apache-2.0
// Views overlap exactly if they share a byte. Calls with disjoint views are accepted: slices of a
// packed tensor, and extents of 1 with any stride.
#define SLICESORT_TEST_EVERY_BACKEND
#include "linked_operators.hpp"
#include "support/backends.hpp"
#include "support/error_message.hpp"
#include "support/inputs.hpp"
#include "support/pattern_mask.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

using namespace support;
using ss::extents3;
using ss::extents4;
using ss::index_t;

namespace {

std::vector<std::uintptr_t> bytes_of(ss::detail::view_info const& v) {
  std::vector<std::uintptr_t> bytes;
  for (index_t o = 0; o < v.extents.outer; ++o)
    for (index_t b = 0; b < v.extents.batch; ++b)
      for (index_t n = 0; n < v.extents.length; ++n)
        for (index_t c = 0; c < v.extents.channels; ++c)
          for (index_t byte = 0; byte < v.element_bytes; ++byte)
            bytes.push_back(reinterpret_cast<std::uintptr_t>(v.data) +
                            static_cast<std::uintptr_t>(
                                v.element_bytes * (o * v.strides.outer + b * v.strides.batch +
                                                   n * v.strides.length + c * v.strides.channels) +
                                byte));
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace

TEST_CASE("views share memory if they share a byte") {
  static std::byte memory[4096];
  random_stream random(1);
  std::size_t overlapping_pairs = 0, disjoint_pairs = 0;
  auto const below = [&](index_t n) {
    return static_cast<index_t>(random.below(static_cast<std::uint64_t>(n)));
  };
  auto const random_view = [&](ss::stack_strides strides) {
    ss::detail::view_info v;
    v.element_bytes = index_t{1} << below(4);
    v.data = memory + below(64);
    v.extents = {1 + below(3), 1 + below(3), 1 + below(4), 1 + below(4)};
    v.strides = strides;
    return v;
  };
  for (int i = 0; i < 20'000; ++i) {
    ss::stack_strides const s{below(60), below(30), below(12), 1 + below(3)},
        t{below(60), below(30), below(12), 1 + below(3)};
    auto const a = random_view(s), b = random_view(random.below(2) == 0 ? s : t);
    auto const first = bytes_of(a), second = bytes_of(b);
    std::vector<std::uintptr_t> shared_bytes;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                          std::back_inserter(shared_bytes));
    CAPTURE(i);
    CHECK(ss::detail::byte_overlap::between(a, b) == !shared_bytes.empty());
    ++(shared_bytes.empty() ? disjoint_pairs : overlapping_pairs);
  }
  CHECK(disjoint_pairs > 2000);
  CHECK(overlapping_pairs > 2000);
}

TEST_CASE("calls with disjoint or identical views") {
  for_each_backend_untuned([&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    std::vector<float> packed(4 * 10), unpacked(200);
    // In place, with an arbitrary stride of an extent of 1.
    ss::slicing_sort<pattern_order> const sort;
    extents3 const e{1, 4, 2};
    std::vector<std::byte> scratch(sort.workspace_bytes<float>(exec, e));
    ss::tensor3<float> const x(packed.data(), e);
    for (index_t arbitrary_stride :
         {index_t{0}, index_t{1}, index_t{12345}, std::numeric_limits<index_t>::min()}) {
      ss::tensor3<float> const y(packed.data(), e, {arbitrary_stride, 2, 1});
      for (std::size_t i = 0; i < 8; ++i) packed[i] = static_cast<float>(8 - i);
      sort.forward(exec, x, y, ss::no_saved, scratch);
      for (std::size_t i = 0; i < 8; ++i)
        CHECK(packed[i] == static_cast<float>(i / 2 * 2 + 2 - i % 2));
    }
    ss::tensor3<float> const first(packed.data(), e, {24, 6, 1}),
        second(packed.data() + 3, e, {0, 6, 1});
    CHECK(sort.forward(ss::exec::dry_run{exec}, first, second, ss::no_saved, scratch));
    CHECK(sort.backward(
        ss::exec::dry_run{exec}, first,
        {ss::tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(unpacked.data()), e)}, second,
        scratch));
    // Gradients of keys and values of different widths, packed in one tensor.
    extents4 const keys{1, 1, 4, 6}, values{1, 1, 4, 4}, state{1, 1, 4, 2};
    ss::strides4 const packed_strides{40, 40, 10, 1};
    auto const input = [&](extents4 shape) { return ss::tensor4<float>(unpacked.data(), shape); };
    ss::softmax_attention<pattern_mask> const softmax;
    scratch.resize(softmax.workspace_bytes<float>(exec, keys, values));
    auto const backward_with_dv_at = [&](index_t offset) {
      return softmax.backward(ss::exec::dry_run{exec}, input(values),
                              {input(keys), input(keys), input(values)}, input(values),
                              {input(state)},
                              {{},
                               ss::tensor4<float>(packed.data(), keys, packed_strides),
                               ss::tensor4<float>(packed.data() + offset, values, packed_strides)},
                              scratch);
    };
    CHECK(std::string(backward_with_dv_at(6).message) == "");
    CHECK(says(backward_with_dv_at(5).message, "dk overlaps dv ("));
    ss::linear_attention<> const linear;
    scratch.resize(linear.workspace_bytes<float>(exec, keys, values));
    CHECK(linear.backward(ss::exec::dry_run{exec}, input(values),
                          {input(keys), input(keys), input(values)},
                          {{},
                           ss::tensor4<float>(packed.data(), keys, packed_strides),
                           ss::tensor4<float>(packed.data() + 6, values, packed_strides)},
                          scratch));
  });
}
