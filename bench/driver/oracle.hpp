// SPDX-License-Identifier: Apache-2.0
// What the operators must compute, from std::stable_sort and without the library: the order of the
// specification on plain doubles (-0 == +0, every NaN equal and last, ties keep the
// lower row).
#pragma once

#include "numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace bench {

inline bool comes_before(double a, double b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

// The stable argsort of one column.
inline std::vector<std::uint32_t> stable_argsort(std::vector<double> const& column,
                                                 bool ascending) {
  struct item {
    double value;
    std::uint32_t row;
  };
  std::vector<item> items(column.size());
  for (std::size_t n = 0; n < items.size(); ++n)
    items[n] = {column[n], static_cast<std::uint32_t>(n)};
  std::stable_sort(items.begin(), items.end(), [ascending](item const& a, item const& b) {
    return ascending ? comes_before(a.value, b.value) : comes_before(b.value, a.value);
  });
  std::vector<std::uint32_t> rows(items.size());
  std::transform(items.begin(), items.end(), rows.begin(), [](item const& i) { return i.row; });
  return rows;
}

// Zero for identical bits; otherwise the difference of the values, or infinity where a difference
// says nothing (a zero of the other sign, a NaN, an infinity).
template <class T>
double moved_value_error(T is, T want) {
  if (std::memcmp(&is, &want, sizeof(T)) == 0) return 0.0;
  double const difference = std::abs(decoded(is) - decoded(want));
  return difference > 0.0 ? difference : std::numeric_limits<double>::infinity();
}

}  // namespace bench
