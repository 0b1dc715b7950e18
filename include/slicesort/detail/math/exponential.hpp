// SPDX-License-Identifier: Apache-2.0
// Bit-reproducible exp and log on every processor and device, from additions, multiplications, one
// division and integer operations. `Arithmetic` has multiply_add(a, b, c) = c + a * b with two
// roundings, product(a, b), whose result may be passed as c, and divide(a, b), rounded once.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Constants of a floating-point format. log 2 is `log2_high + log2_low`. The product of log2_high
// and an exponent is exact.
template <class A>
struct binary_format;
template <>
struct binary_format<float> {
  using integer = std::uint32_t;
  static constexpr int fraction_bits = 23, bias = 127;
  static constexpr float log2_high = 0x1.63p-1f, log2_low = -0x1.bd0106p-13f;
  static constexpr float min_argument = -87.0f;      // exp(x) is normal from here on
  static constexpr float integer_shift = 0x1.8p23f;  // adding it rounds to an integer
  static constexpr int exp_terms = 8, log_terms = 5;
};
template <>
struct binary_format<double> {
  using integer = std::uint64_t;
  static constexpr int fraction_bits = 52, bias = 1023;
  static constexpr double log2_high = 0x1.62e42feep-1, log2_low = 0x1.a39ef35793c76p-33;
  static constexpr double min_argument = -708.0;
  static constexpr double integer_shift = 0x1.8p52;
  static constexpr int exp_terms = 14, log_terms = 12;
};

// Smallest and largest normal values. They replace std::numeric_limits, which has no device
// functions.
template <class A>
SLICESORT_HD_INLINE A min_normal() {
  return bit_cast<A>(typename binary_format<A>::integer{1} << binary_format<A>::fraction_bits);
}
template <class A>
SLICESORT_HD_INLINE A max_finite() {
  return bit_cast<A>(dtype_traits<A>::infinity - 1);
}

// Built from its bits, because with -ffast-math the compiler may assume that there are no
// infinities.
template <class A>
SLICESORT_HD_INLINE A minus_infinity() {
  return bit_cast<A>(~typename binary_format<A>::integer{0} << binary_format<A>::fraction_bits);
}

// Returns `value` if `mask` is all ones, and 0 if `mask` is zero. A branch would prevent
// vectorization.
template <class A>
SLICESORT_HD_INLINE A mask_bits(A value, typename binary_format<A>::integer mask) {
  return bit_cast<A>(bit_cast<typename binary_format<A>::integer>(value) & mask);
}

template <class A>
SLICESORT_HD constexpr A reciprocal_factorial(int k) {
  double product = 1;
  for (int i = 2; i <= k; ++i) product *= i;
  return static_cast<A>(1 / product);
}

template <int K, class Arithmetic, class A>
SLICESORT_HD_INLINE A exp_terms_after(Arithmetic& ops, A r, A sum) {
  if constexpr (K < 0) {
    return sum;
  } else {
    constexpr A coefficient = reciprocal_factorial<A>(K);
    return exp_terms_after<K - 1>(ops, r, ops.multiply_add(sum, r, coefficient));
  }
}

// Returns exp(min(x, 0)), accurate to two units in the last place. Subnormal results flush to 0;
// NaN propagates.
template <class Arithmetic, class A>
SLICESORT_HD_INLINE A exp_at_most_one(Arithmetic& ops, A x) {
  using format = binary_format<A>;
  using integer = typename format::integer;
  constexpr A log2_e = static_cast<A>(1.4426950408889634);
  integer const mask = static_cast<integer>(x < format::min_argument) - integer{1};
  A const y = mask_bits(x, mask & (static_cast<integer>(x > A{0}) - integer{1}));
  // Adding `integer_shift` rounds to an integer n, which the last bits of the sum hold. The detour
  // through integers keeps -ffast-math from cancelling `integer_shift`.
  integer const rounded = bit_cast<integer>(ops.multiply_add(y, log2_e, format::integer_shift));
  constexpr integer detour = 1024;
  A const power = bit_cast<A>(rounded + detour) - (format::integer_shift + static_cast<A>(detour));
  A const scale =
      bit_cast<A>((rounded + static_cast<integer>(format::bias)) << format::fraction_bits);
  A const r =
      ops.multiply_add(power, -format::log2_low, ops.multiply_add(power, -format::log2_high, y));
  constexpr A last_coefficient = reciprocal_factorial<A>(format::exp_terms - 1);
  A const near_one = exp_terms_after<format::exp_terms - 2>(ops, r, last_coefficient);
  // The product is exact, so the result does not change if it is fused with a sum.
  return mask_bits(near_one * scale, mask);
}

template <int K, class Arithmetic, class A>
SLICESORT_HD_INLINE A log_terms_after(Arithmetic& ops, A square, A sum) {
  if constexpr (K < 0) {
    return sum;
  } else {
    constexpr A coefficient = static_cast<A>(2.0 / (2 * K + 1));
    return log_terms_after<K - 1>(ops, square, ops.multiply_add(sum, square, coefficient));
  }
}

// Returns log(x) for normal x > 0, accurate to two units in the last place of max(|log(x)|, 1). NaN
// propagates.
template <class Arithmetic, class A>
SLICESORT_HD_INLINE A log_normal_value(Arithmetic& ops, A x) {
  using format = binary_format<A>;
  using integer = typename format::integer;
  integer const bits = bit_cast<integer>(x);
  integer const fraction = bits & ((integer{1} << format::fraction_bits) - 1);
  integer const bits_of_one = integer{format::bias} << format::fraction_bits;
  A const mantissa = bit_cast<A>(fraction | bits_of_one);  // in [1, 2)
  bool const is_halved = mantissa > static_cast<A>(1.4142135623730951);
  int const exponent = static_cast<int>(bits >> format::fraction_bits) - format::bias + is_halved;
  A const power = static_cast<A>(exponent),
          centered = is_halved ? mantissa * static_cast<A>(0.5) : mantissa;
  A const s = ops.divide(centered - 1, centered + 1);
  constexpr A last_coefficient = static_cast<A>(2.0 / (2 * format::log_terms - 1));
  A const series = log_terms_after<format::log_terms - 2>(ops, s * s, last_coefficient);
  A const low = ops.multiply_add(s, series, ops.product(power, format::log2_low));
  return ops.multiply_add(power, format::log2_high, low) + (x - x);
}

SLICESORT_DETAIL_END
