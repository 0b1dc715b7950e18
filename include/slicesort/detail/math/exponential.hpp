// SPDX-License-Identifier: Apache-2.0
// exp and log made only of additions, multiplications, one division and integer operations, so that
// they give the same bits on every processor and device. `Arithmetic::multiply_add(a, b, c)` is c +
// a * b with two roundings, `Arithmetic::product(a, b)` is a * b and may be that c, and
// `Arithmetic::divide(a, b)` is a / b rounded once.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// What exp and log need to know about a format. log 2 is `log2_high + log2_low`; the higher part
// has so few bits that its product with an exponent is exact.
template <class A>
struct binary_format;
template <>
struct binary_format<float> {
  using integer = std::uint32_t;
  static constexpr int fraction_bits = 23, bias = 127;
  static constexpr float log2_high = 0x1.63p-1f, log2_low = -0x1.bd0106p-13f;
  static constexpr float least_exponent = -87.0f;  // of a normal number
  static constexpr float whole = 0x1.8p23f;        // what is added to it becomes a whole number
  static constexpr int exp_terms = 8, log_terms = 5;
};
template <>
struct binary_format<double> {
  using integer = std::uint64_t;
  static constexpr int fraction_bits = 52, bias = 1023;
  static constexpr double log2_high = 0x1.62e42feep-1, log2_low = 0x1.a39ef35793c76p-33;
  static constexpr double least_exponent = -708.0;
  static constexpr double whole = 0x1.8p52;
  static constexpr int exp_terms = 14, log_terms = 12;
};

// The smallest normal number, and the largest one. std::numeric_limits has no device functions.
template <class A>
SLICESORT_HD_INLINE A least_normal() {
  return bit_cast<A>(typename binary_format<A>::integer{1} << binary_format<A>::fraction_bits);
}
template <class A>
SLICESORT_HD_INLINE A greatest_number() {
  return bit_cast<A>(dtype_traits<A>::infinity - 1);
}

// `number` if `keep` is all ones, 0 if it is zero. A mask, because a branch would stop compilers
// from vectorizing the callers.
template <class A>
SLICESORT_HD_INLINE A masked(A number, typename binary_format<A>::integer keep) {
  return bit_cast<A>(bit_cast<typename binary_format<A>::integer>(number) & keep);
}

// 1 / k!, evaluated at compile time.
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

// exp(min(x, 0)), to two units in the last place; 0 if the result would not be a normal number. A
// NaN stays one.
template <class Arithmetic, class A>
SLICESORT_HD_INLINE A exp_at_most_one(Arithmetic& ops, A x) {
  using format = binary_format<A>;
  using integer = typename format::integer;
  constexpr A log2_e = static_cast<A>(1.4426950408889634);
  integer const keep = static_cast<integer>(x < format::least_exponent) - integer{1};
  A const y = masked(x, keep & (static_cast<integer>(x > A{0}) - integer{1}));
  // Adding `whole` rounds to a whole number n, whose bits are the last ones of the sum. The detour
  // through integers keeps compilers that may reorder sums (-ffast-math) from cancelling `whole`.
  integer const rounded = bit_cast<integer>(ops.multiply_add(y, log2_e, format::whole));
  constexpr integer detour = 1024;
  A const power = bit_cast<A>(rounded + detour) - (format::whole + static_cast<A>(detour));
  A const scale =
      bit_cast<A>((rounded + static_cast<integer>(format::bias)) << format::fraction_bits);
  A const r =
      ops.multiply_add(power, -format::log2_low, ops.multiply_add(power, -format::log2_high, y));
  constexpr A leading = reciprocal_factorial<A>(format::exp_terms - 1);
  A const near_one = exp_terms_after<format::exp_terms - 2>(ops, r, leading);
  // This product is exact, so it does not matter whether a compiler fuses it with a sum.
  return masked(near_one * scale, keep);
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

// log(x) for normal numbers x > 0, accurate to two units in the last place of max(|log(x)|, 1). NaN
// gives NaN.
template <class Arithmetic, class A>
SLICESORT_HD_INLINE A log_of_sum(Arithmetic& ops, A x) {
  using format = binary_format<A>;
  using integer = typename format::integer;
  integer const bits = bit_cast<integer>(x);
  integer const fraction = bits & ((integer{1} << format::fraction_bits) - 1);
  integer const one = integer{format::bias} << format::fraction_bits;
  A const m = bit_cast<A>(fraction | one);  // in [1, 2)
  bool const halved = m > static_cast<A>(1.4142135623730951);
  int const exponent = static_cast<int>(bits >> format::fraction_bits) - format::bias + halved;
  A const power = static_cast<A>(exponent), centered = halved ? m * static_cast<A>(0.5) : m;
  A const s = ops.divide(centered - 1, centered + 1);
  constexpr A last = static_cast<A>(2.0 / (2 * format::log_terms - 1));
  A const series = log_terms_after<format::log_terms - 2>(ops, s * s, last);
  A const low = ops.multiply_add(s, series, ops.product(power, format::log2_low));
  return ops.multiply_add(power, format::log2_high, low) + (x - x);
}

SLICESORT_DETAIL_END
