// SPDX-License-Identifier: Apache-2.0
// Conversions of elements to double, and error measures. Uses the tests' decoder, not the library's
// conversions.
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

inline double to_double(float value) { return static_cast<double>(value); }
inline double to_double(double value) { return value; }
template <class T>
double to_double(T value) {
  support::number const decoded = support::decode(value);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (decoded.kind == support::number_class::finite) return static_cast<double>(decoded.value);
  if (decoded.kind == support::number_class::nan) return std::numeric_limits<double>::quiet_NaN();
  return decoded.kind == support::number_class::plus_infinity ? infinity : -infinity;
}

// The largest relative error of rounding to T: half the gap between 1 and the next value.
template <class T>
double unit_roundoff() {
  return std::ldexp(1.0, -(support::format_of<T>().fraction_bits + 1));
}

// The larger error; NaN counts as the largest.
inline double larger_error(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

// A sum of products, and the sum of their absolute values, which bounds its rounding error.
struct tracked_sum {
  double value = 0.0, magnitude = 0.0;

  static tracked_sum exact(double x) { return {x, std::abs(x)}; }
  tracked_sum& operator+=(tracked_sum term) {
    value += term.value, magnitude += term.magnitude;
    return *this;
  }
  friend tracked_sum operator*(tracked_sum sum, double factor) {
    return {sum.value * factor, sum.magnitude * std::abs(factor)};
  }
  // Error of a computed value, relative to the magnitude.
  double error_of(double computed) const {
    return std::abs(computed - value) / (magnitude + std::numeric_limits<double>::min());
  }
};

// Error of a value that was only moved: 0 for identical bits, else the difference. Infinity if the
// difference is 0 or NaN (zeros of different sign, NaN, infinities).
template <class T>
double moved_value_error(T actual, T expected) {
  if (std::memcmp(&actual, &expected, sizeof(T)) == 0) return 0.0;
  double const difference = std::abs(to_double(actual) - to_double(expected));
  return difference > 0.0 ? difference : std::numeric_limits<double>::infinity();
}

}  // namespace bench
