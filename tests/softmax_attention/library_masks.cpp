// SPDX-License-Identifier: Apache-2.0
// Bias layouts and dropout with every mask of the library and both algorithms, compared with the
// oracle. They share one program, because the operator is compiled per mask type.
#include "masks.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace support;

TEST_CASE_TEMPLATE("every bias layout", T, float, double, bfloat16) {
  std::uint64_t seed = sizeof(T) * 100;
  for_each_library_mask(90, [&](auto const& mask) {
    for (int i = 0; i < (full_suite() ? 6 : 2); ++i, ++seed) {
      unsigned const layout_bits = static_cast<unsigned>(seed * 7) % bias_layout_cases;
      auto const p = problem_with_bias_layouts<T>({2, 2, 60, 90, 5, 7}, layout_bits, seed);
      CHECK(check_with_mask(mask, p, ss::exec::host{2}) == "");
    }
  });
}

TEST_CASE_TEMPLATE("dropout", T, float, double, bfloat16) {
  std::uint64_t seed = sizeof(T) * 100;
  double const rates[] = {0.1, 0.5, 0.97, 0.25};
  for_each_library_mask(90, [&](auto const& mask) {
    for (int i = 0; i < (full_suite() ? 8 : 2); ++i, ++seed)
      CHECK(check_with_mask(mask,
                            problem_with_dropout<T>({2, 2, 60, 90, 5, 7}, seed, rates[seed % 4]),
                            ss::exec::host{2}) == "");
  });
}
