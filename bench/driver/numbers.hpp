// SPDX-License-Identifier: Apache-2.0
// Conversion of doubles to element types and back. The way back, which the oracle compares through,
// is written from the formats' definitions and not with the library's conversions.
#pragma once

#include <slicesort/dtype.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace bench {

namespace ss = slicesort;

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<T>(static_cast<float>(value));
}

inline double decoded(float value) { return static_cast<double>(value); }
inline double decoded(double value) { return value; }

// The value of a 16-bit format: sign, `exponent_bits` of exponent, and significand.
inline double decoded_16(std::uint16_t bits, int exponent_bits) {
  int const significand_bits = 15 - exponent_bits;
  int const exponent = (bits >> significand_bits) & ((1 << exponent_bits) - 1);
  int const significand = bits & ((1 << significand_bits) - 1);
  int const bias = (1 << (exponent_bits - 1)) - 1;
  double magnitude;
  if (exponent == (1 << exponent_bits) - 1)
    magnitude = significand != 0 ? std::numeric_limits<double>::quiet_NaN()
                                 : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(significand, 1 - bias - significand_bits);
  else
    magnitude =
        std::ldexp(significand + (1 << significand_bits), exponent - bias - significand_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
inline double decoded(ss::float16 value) { return decoded_16(value.bits, 5); }
inline double decoded(ss::bfloat16 value) { return decoded_16(value.bits, 8); }

// The largest relative error of rounding to T: half the gap between 1 and the next value.
template <class T>
constexpr double unit_roundoff() {
  if (sizeof(T) == 8) return 0x1p-53;
  if (sizeof(T) == 4) return 0x1p-24;
  return std::is_same_v<T, ss::float16> ? 0x1p-11 : 0x1p-8;
}

// The larger error; NaN counts as the largest.
inline double worst(double a, double b) { return b <= a ? a : b; }

}  // namespace bench
