// SPDX-License-Identifier: Apache-2.0
// Elements as doubles and their errors. Elements are read as the tests' oracles read them, and not
// by the library's conversions.
#pragma once

#include "../../tests/support/inputs.hpp"
#include "../../tests/support/numbers.hpp"

#include <slicesort/dtype.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace bench {

namespace ss = slicesort;
using support::from_double, support::random_bits, support::random_normals, support::random_uniform;

inline double decoded(float value) { return static_cast<double>(value); }
inline double decoded(double value) { return value; }
template <class T>
double decoded(T value) {
  support::number const n = support::decode(value);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (n.kind == support::number_class::finite) return static_cast<double>(n.value);
  if (n.kind == support::number_class::nan) return std::numeric_limits<double>::quiet_NaN();
  return n.kind == support::number_class::plus_infinity ? infinity : -infinity;
}

// The largest relative error of rounding to T: half the gap between 1 and the next value.
template <class T>
double unit_roundoff() {
  return std::ldexp(1.0, -(support::format_of<T>().fraction_bits + 1));
}

// The larger error; NaN counts as the largest.
inline double worst(double a, double b) { return b <= a ? a : b; }

// A sum of products, and the sum of their absolute values, which its rounding error is relative to.
struct sized {
  double value = 0.0, size = 0.0;

  static sized exact(double x) { return {x, std::abs(x)}; }
  sized& operator+=(sized b) {
    value += b.value, size += b.size;
    return *this;
  }
  friend sized operator*(sized a, double b) { return {a.value * b, a.size * std::abs(b)}; }
  // The error of a computed value, relative to the size.
  double error_of(double computed) const {
    return std::abs(computed - value) / (size + std::numeric_limits<double>::min());
  }
};

// Zero for identical bits; otherwise the difference of the values, or infinity where a difference
// says nothing (a zero of the other sign, a NaN, an infinity).
template <class T>
double moved_value_error(T is, T want) {
  if (std::memcmp(&is, &want, sizeof(T)) == 0) return 0.0;
  double const difference = std::abs(decoded(is) - decoded(want));
  return difference > 0.0 ? difference : std::numeric_limits<double>::infinity();
}

}  // namespace bench
