// SPDX-License-Identifier: Apache-2.0
// Counter-based normally distributed doubles. All compilers and flags produce the same bits. Uses
// no library functions, which differ in the last bit of logarithms and square roots.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Arithmetic without contraction or reordering, even under -ffast-math. Uses volatile variables,
// which compilers do not optimize, so it is slow.
struct uncontracted_arithmetic {
  SLICESORT_HD static double opaque(double x) {
    double const volatile result = x;
    return result;
  }
  SLICESORT_HD double product(double a, double b) const { return opaque(a * b); }
  SLICESORT_HD double plus(double a, double b) const { return opaque(a + b); }
  SLICESORT_HD double divide(double a, double b) const { return opaque(a / opaque(b)); }
  SLICESORT_HD double multiply_add(double a, double b, double c) const {
    return plus(c, product(a, b));
  }
};

// Returns the square root of a normal value > 0, rounded to nearest. Computes it bit by bit in
// integer arithmetic.
SLICESORT_HD_INLINE double exact_square_root(double x) {
  constexpr int fraction_bits = 52, bias = 1023;
  constexpr std::uint64_t hidden_bit = std::uint64_t{1} << fraction_bits;
  auto const bits = bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> fraction_bits) - bias;
  std::uint64_t mantissa = (bits & (hidden_bit - 1)) | hidden_bit;
  if (exponent % 2 != 0) mantissa *= 2, --exponent;
  // x = mantissa * 2^(exponent - 52). The root of mantissa * 2^54 has 54 bits; the last bit decides
  // the rounding. Ties do not occur, because an odd number has an odd square.
  std::uint64_t root = 0, remainder = 0;
  for (int bit_pair = 53; bit_pair >= 0; --bit_pair) {
    std::uint64_t const next = bit_pair >= 27 ? mantissa >> (2 * (bit_pair - 27)) & 3 : 0;
    remainder = remainder << 2 | next;
    std::uint64_t const trial = root << 2 | 1;
    bool const fits = remainder >= trial;
    if (fits) remainder -= trial;
    root = root << 1 | static_cast<std::uint64_t>(fits);
  }
  // A mantissa that rounds up to 2^53 increments the exponent.
  return bit_cast<double>((static_cast<std::uint64_t>(exponent / 2 + bias) << fraction_bits) +
                          ((root + 1) / 2 - hidden_bit));
}

// Returns 2 u - 1 in [-1, 1), exactly, where u in [0, 1) is the upper 53 bits of the hash.
SLICESORT_HD_INLINE double symmetric_unit(std::uint64_t key, std::uint64_t counter) {
  auto const bits = static_cast<std::int64_t>(counter_hash64(key, counter) >> 11);
  return static_cast<double>(bits - (std::int64_t{1} << 52)) * 0x1p-52;
}

// Returns element `i` of a sequence of normal values with mean 0 and variance 1. Uses Marsaglia's
// polar method with at most 64 pairs of uniform values. (Returns 0 if it rejects all pairs, with a
// probability of 10^-42.)
SLICESORT_HD_INLINE double counter_normal(std::uint64_t seed, std::uint64_t sequence,
                                          std::uint64_t i) {
  constexpr std::uint64_t max_pairs = 64;
  uncontracted_arithmetic const ops;
  std::uint64_t const key = counter_hash64(seed, sequence);
  for (std::uint64_t pair = max_pairs * i; pair < max_pairs * i + max_pairs; ++pair) {
    double const a = symmetric_unit(key, 2 * pair), b = symmetric_unit(key, 2 * pair + 1);
    double const square = ops.multiply_add(b, b, ops.product(a, a));
    if (0 < square && square < 1)
      return ops.product(a,
                         exact_square_root(ops.divide(-2 * log_normal_value(ops, square), square)));
  }
  return 0;
}

SLICESORT_DETAIL_END
