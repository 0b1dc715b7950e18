// SPDX-License-Identifier: Apache-2.0
// csp with similar shifts in neighboring channels, for which kernels stage a window of rows in
// shared memory.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <slicesort/detail/csp/device/shifts.hpp>
#include <slicesort/detail/csp/params.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace support;

namespace {

constexpr extents3 shape{2, 1100, 11};

struct shift_pattern {
  char const* name;
  index_t (*shift)(index_t channel);
};
enum pattern_index { forth, back, around_end, congruent, jumping, apart };
constexpr shift_pattern patterns[] = {
    {"forth", [](index_t c) { return 3 * c; }},
    {"back", [](index_t c) { return -5 * c - 1; }},
    {"around the end", [](index_t c) { return shape.length - 4 + c; }},
    {"named differently", [](index_t c) { return 40 + c * 7 % 5 + (c % 3 - 1) * shape.length; }},
    {"far from one window to the next", [](index_t c) { return c / 8 * 531 + c * 7 % 5; }},
    {"apart", [](index_t c) { return c * 397; }},
};

template <class T>
csp_problem<T> make_problem(shift_pattern const& p, index_t group, index_t reference,
                            std::vector<index_t> lengths) {
  csp_problem<T> shifted = make_mixed_csp<T>(shape, group, reference, 3, std::move(lengths));
  shifted.shifts.table.clear();
  for (index_t c = 0; c < shape.channels; ++c) shifted.shifts.table.push_back(p.shift(c));
  shifted.title += std::string(", ") + p.name;
  compute_expected(shifted);
  return shifted;
}

// Computes the spread of a pattern of shifts over eight channels.
slicesort::detail::shift_spread spread_of(index_t (*shift)(index_t), bool has_lengths,
                                          index_t limit) {
  slicesort::detail::csp_config config{};
  config.policies = reinterpret_cast<void const*>(&shift);
  config.shift_by = [](void const* policies, index_t channel, extents3) {
    return (*reinterpret_cast<index_t (*const*)(index_t)>(policies))(channel);
  };
  return slicesort::detail::spread_of(config, shape, has_lengths, 8, limit);
}

}  // namespace

TEST_CASE_TEMPLATE("similar shifts", T, float, double, float16, bfloat16) {
  index_t const groups[] = {2, 16, 5, 2, 7};
  std::size_t i = sizeof(T);  // each type tests different combinations
  for (shift_pattern const& p : patterns)
    for (bool has_lengths : {false, true}) {
      ++i;
      auto const lengths = has_lengths
                               ? std::vector<index_t>{shape.length - 13, i % 2 == 0 ? 29 : 600}
                               : std::vector<index_t>();
      auto const shifted =
          make_problem<T>(p, groups[i % 5], i % 3 == 0 ? 0 : no_reference, lengths);
      for_each_backend_untuned(
          [&](any_exec const& exec) { CHECK(check_csp(shifted, exec) == ""); });
      for_each_grid(shifted.backend_seed(),
                    [&](any_exec const& exec) { CHECK(check_csp(shifted, exec) == ""); });
    }
}

TEST_CASE("spread of the shifts of eight neighboring channels") {
  auto const is_spread = [](slicesort::detail::shift_spread s, std::uint32_t above,
                            std::uint32_t below) {
    return s.width == 8 && s.above == above && s.below == below;
  };
  CHECK(is_spread(spread_of(patterns[forth].shift, false, 100), 21, 0));
  CHECK(is_spread(spread_of(patterns[back].shift, false, 100), 0, 35));
  CHECK(is_spread(spread_of(patterns[back].shift, true, 100), 0, 35));
  // Modulo 1100 rows, 1099 and 0 are neighbors; lengths change the modulus.
  CHECK(is_spread(spread_of(patterns[around_end].shift, false, 100), 7, 0));
  CHECK(is_spread(spread_of(patterns[around_end].shift, true, 100), 7, 0));
  CHECK(is_spread(spread_of(patterns[congruent].shift, false, 100), 4, 1));
  CHECK(spread_of(patterns[congruent].shift, true, 100).width == 0);
  CHECK(is_spread(spread_of(patterns[jumping].shift, false, 5), 4, 1));
  CHECK(spread_of(patterns[jumping].shift, false, 4).width == 0);
  CHECK(spread_of([](index_t c) { return c % 2 == 0 ? index_t{1} << 62 : 0; }, true, 100).width ==
        0);
}
