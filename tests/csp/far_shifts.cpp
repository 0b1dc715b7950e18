// SPDX-License-Identifier: Apache-2.0
// csp with arbitrary 64-bit shifts, which are reduced modulo the sample's length without rounding
// or overflow.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

using namespace support;

namespace {

__extension__ typedef __int128 int128;

constexpr index_t max_shift = std::numeric_limits<index_t>::max(),
                  min_shift = std::numeric_limits<index_t>::min();

// Returns values next to the limits of 64, 63, 62 and 32 bits, and random ones.
std::vector<index_t> far_shifts(index_t count, std::uint64_t seed) {
  std::vector<index_t> edges{max_shift, max_shift - 1, min_shift, min_shift + 1, 0, 1, -1};
  for (int bit : {31, 32, 60, 61, 62})
    for (index_t offset : {-1, 0, 1})
      for (index_t sign : {-1, 1}) edges.push_back(sign * (index_t{1} << bit) + offset);
  random_stream random(seed);
  std::vector<index_t> shifts;
  for (index_t i = 0; i < count; ++i) {
    std::uint64_t const bits = random.bits();
    shifts.push_back(bits % 3 == 0 ? static_cast<index_t>(random.bits())
                                   : edges[bits / 3 % edges.size()]);
  }
  return shifts;
}

}  // namespace

TEST_CASE("a shift of 2^62 moves row 0 of six to row 4") {
  struct far_shift {
    index_t shift(index_t, index_t, index_t) const { return index_t{1} << 62; }
  };
  extents3 const e{1, 6, 1};
  ss::csp const op{ss::group_size{1}, far_shift{}, ss::ascending{}};
  CHECK(op.shift_of(0, e, 6) == 4);
  tensor<float> x(e), y(e), dx(e);
  for (index_t n = 0; n < 6; ++n) x(0, n, 0) = static_cast<float>(n);
  for_each_backend(1, [&](any_exec const& exec) {
    guarded_workspace scratch(op.template workspace_bytes<float>(exec, e));
    guarded_order_buffer no_order(op.saved_extents(e), op.saved_width(e));
    op.forward(exec, x.view(), y.view(), {no_order.view()}, scratch.get());
    CHECK(y.elements() == std::vector<float>{2, 3, 4, 5, 0, 1});
    op.backward(exec, y.view(), {no_order.view()}, dx.view(), scratch.get());
    CHECK(dx.elements() == x.elements());
  });
}

TEST_CASE("shift_of matches 128-bit arithmetic") {
  test_shift policy;
  policy.table = far_shifts(200, 3);
  extents3 const e{1, 1000, 200};
  ss::csp<test_shift, follow_channel> const aligned(ss::group_size{4}, policy, follow_channel{7});
  for (std::uint64_t order : {up, down, irregular}) {
    ss::csp<test_shift, pattern_order> const sorted(ss::group_size{4}, policy,
                                                    pattern_order{order});
    for (index_t c = 0; c < e.channels; ++c)
      for (index_t length : {index_t{1}, index_t{6}, index_t{997}, index_t{1000},
                             (index_t{1} << 31) - 1, index_t{1} << 31}) {
        int128 const shift = policy.table[static_cast<std::size_t>(c)];
        auto const rows = static_cast<index_t>((shift % length + length) % length);
        CHECK(sorted.shift_of(c, e, length) == rows);
        CHECK(aligned.shift_of(c, e, length) == (c == 7 ? 0 : rows));
      }
  }
}

TEST_CASE_TEMPLATE("every group, order and length", T, float, double, float16) {
  std::uint64_t seed = 0;
  for (index_t channels : {1, 5, 33})
    for (index_t group : {1, 2, 3, 40, 200})
      for (bool has_lengths : {false, true}) {
        extents3 const e{3, group == 200 ? 201 : 47, channels};
        ++seed;
        auto p = make_mixed_csp<T>(e, group, no_reference, seed);
        if (has_lengths) p.lengths = {e.length, 0, e.length - 8};
        p.shifts.table = far_shifts(channels, seed);
        for (std::uint64_t order : {up, down, irregular}) {
          p.order = order;
          p.title = "far shifts, seed=" + std::to_string(seed);
          compute_expected(p);
          CHECK(check_everywhere(p) == "");
        }
        p.shifts.table.assign(static_cast<std::size_t>(channels), p.shifts.table[0]);
        p.title = "one far shift, seed=" + std::to_string(seed);
        compute_expected(p);
        CHECK(check_everywhere(p) == "");
        p.shifts.table = far_shifts(channels, seed + 1000);
        p.reference = channels / 2;
        p.title = "far shifts, aligned, seed=" + std::to_string(seed);
        compute_expected(p);
        CHECK(check_everywhere(p) == "");
      }
}
