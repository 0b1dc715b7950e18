// SPDX-License-Identifier: Apache-2.0
// Normal numbers from a counter, in double, with the same bits from every compiler and under every
// flag: a logarithm and a square root of a library of the system may differ in the last one.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Arithmetic whose every result is rounded as written. A compiler may not look through a volatile
// number, so it neither contracts nor reorders what lies on both sides of one, -ffast-math or not.
// For numbers that are formed once.
struct arithmetic_as_written {
  SLICESORT_HD static double kept(double x) {
    double const volatile result = x;
    return result;
  }
  SLICESORT_HD double product(double a, double b) const { return kept(a * b); }
  SLICESORT_HD double plus(double a, double b) const { return kept(a + b); }
  SLICESORT_HD double divide(double a, double b) const { return kept(a / kept(b)); }
  SLICESORT_HD double multiply_add(double a, double b, double c) const {
    return plus(c, product(a, b));
  }
};

// The square root of a normal number above 0, rounded to nearest, by integers: a bit after the
// other, as on paper.
SLICESORT_HD_INLINE double root_as_written(double x) {
  constexpr int fraction_bits = 52, bias = 1023;
  constexpr std::uint64_t one = std::uint64_t{1} << fraction_bits;
  auto const bits = bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> fraction_bits) - bias;
  std::uint64_t mantissa = (bits & (one - 1)) | one;
  if (exponent % 2 != 0) mantissa *= 2, --exponent;
  // x = mantissa * 2^(exponent - 52). The root of mantissa * 2^54 has 54 bits: one to round by. It
  // is never a tie, for an odd number has an odd square.
  std::uint64_t root = 0, rest = 0;
  for (int pair = 53; pair >= 0; --pair) {
    std::uint64_t const next = pair >= 27 ? mantissa >> (2 * (pair - 27)) & 3 : 0;
    rest = rest << 2 | next;
    std::uint64_t const trial = root << 2 | 1;
    bool const fits = rest >= trial;
    if (fits) rest -= trial;
    root = root << 1 | static_cast<std::uint64_t>(fits);
  }
  // A mantissa that rounds up to 2^53 counts up the exponent.
  return bit_cast<double>((static_cast<std::uint64_t>(exponent / 2 + bias) << fraction_bits) +
                          ((root + 1) / 2 - one));
}

// 53 bits in [-1, 1): 2 u - 1, where u in [0, 1) is the upper 53 bits of the hash. Exact.
SLICESORT_HD_INLINE double symmetric_unit(std::uint64_t key, std::uint64_t counter) {
  auto const bits = static_cast<std::int64_t>(counter_hash64(key, counter) >> 11);
  return static_cast<double>(bits - (std::int64_t{1} << 52)) * 0x1p-52;
}

// Number `i` of a stream of normal numbers, of mean 0 and variance 1: Marsaglia's polar method,
// with 64 pairs of uniform numbers set aside for each. (All are refused once in 10^42; then 0.)
SLICESORT_HD_INLINE double counter_normal(std::uint64_t seed, std::uint64_t stream,
                                          std::uint64_t i) {
  constexpr std::uint64_t pairs = 64;
  arithmetic_as_written const ops;
  std::uint64_t const key = counter_hash64(seed, stream);
  for (std::uint64_t pair = pairs * i; pair < pairs * i + pairs; ++pair) {
    double const a = symmetric_unit(key, 2 * pair), b = symmetric_unit(key, 2 * pair + 1);
    double const square = ops.multiply_add(b, b, ops.product(a, a));
    if (0 < square && square < 1)
      return ops.product(a, root_as_written(ops.divide(-2 * log_of_sum(ops, square), square)));
  }
  return 0;
}

SLICESORT_DETAIL_END
