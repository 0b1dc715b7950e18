// SPDX-License-Identifier: Apache-2.0
// Elementary functions of the feature maps, as fixed sequences of fused multiply-adds and integer
// operations. Scalars and SIMD lanes, host and device get the same bits. feature_math.hpp includes
// this file for scalars, host/simd_table.inl for each instruction set.
//
// `Ops` has the types A (scalar), `value` (scalar or lanes), `bits` (integers like `value`), and
//   fused(a, b, c)          a * b + c, rounded once
//   splat(A), splat_bits(integer)
//   bits_of(value), value_of(bits)
//   max(a, b)               the larger one; a if a is NaN
//   positive(a)             all ones where a > 0, else 0
template <class Ops>
struct feature_math {
  using Value = typename Ops::value;
  using Bits = typename Ops::bits;
  using A = typename Ops::A;
  using format = detail::binary_format<A>;
  using integer = typename format::integer;

  static SLICESORT_FEATURE_INLINE Value product(Ops const& ops, Value const& a, Value const& b) {
    return ops.fused(a, b, ops.splat(A(0)));
  }
  static SLICESORT_FEATURE_INLINE Value sum(Ops const& ops, Value const& a, Value const& b) {
    return ops.fused(a, ops.splat(A(1)), b);
  }
  // Selects `yes` where the mask is all ones and `no` where it is 0.
  static SLICESORT_FEATURE_INLINE Value select(Ops const& ops, Bits const& mask, Value const& yes,
                                               Value const& no) {
    return ops.value_of((ops.bits_of(yes) & mask) | (ops.bits_of(no) & ~mask));
  }
  // Returns `x` where the mask is all ones, and 0 elsewhere.
  static SLICESORT_FEATURE_INLINE Value mask_bits(Ops const& ops, Bits const& mask,
                                                  Value const& x) {
    return ops.value_of(ops.bits_of(x) & mask);
  }

  // Returns exp(x) for x <= 0, with an error of up to 2 ulp. Subnormal results, and some slightly
  // larger ones, flush to 0; NaN propagates. Like detail::exp_at_most_one, with two differences.
  // First, the whole number n includes the exponent bias minus one, so its bits yield 2^(n - 1), or
  // 0 at the lower clamp of x. Second, the series computes twice the exponential.
  static SLICESORT_FEATURE_INLINE Value exponential(Ops const& ops, Value const& argument) {
    constexpr A shift = format::integer_shift + static_cast<A>(format::bias - 1);
    constexpr A min_x = static_cast<A>(-(format::bias - 1) * 0.6931471805599453);
    Value const x = ops.max(argument, ops.splat(min_x));
    Value const biased =
        ops.fused(x, ops.splat(static_cast<A>(1.4426950408889634)), ops.splat(shift));
    Value const power = sum(ops, biased, ops.splat(-shift));
    Value r = ops.fused(power, ops.splat(-format::log2_high), x);
    r = ops.fused(power, ops.splat(-format::log2_low), r);
    Value const near_two = exp_terms_after<format::exp_terms - 2>(
        ops, r, ops.splat(2 * detail::reciprocal_factorial<A>(format::exp_terms - 1)));
    return product(ops, near_two, ops.value_of(ops.bits_of(biased) << format::fraction_bits));
  }

  // Returns sine and cosine with an error of up to 2 ulp of 1 for |x| up to a million. |x| is
  // clamped to 2^20 (double: 2^40). NaN propagates.
  struct sine_and_cosine {
    Value sine, cosine;
  };
  static SLICESORT_FEATURE_INLINE sine_and_cosine sincos(Ops const& ops, Value const& argument) {
    constexpr bool is_double = sizeof(A) == 8;
    constexpr A limit = is_double ? static_cast<A>(1099511627776.0) : static_cast<A>(1048576.0);
    Value const upper_clamped = negated(ops, ops.max(negated(ops, argument), ops.splat(-limit)));
    Value const x = ops.max(upper_clamped, ops.splat(-limit));
    // Rounded number of quarter turns, in the low bits of the sum.
    Value const shifted_count = ops.fused(x, ops.splat(static_cast<A>(0.63661977236758134308)),
                                          ops.splat(format::integer_shift));
    Value const quarters = sum(ops, shifted_count, ops.splat(-format::integer_shift));
    // Subtracts the quarter turns with pi / 2 split into three parts.
    Value r = ops.fused(
        quarters, ops.splat(-static_cast<A>(is_double ? 0x1.921fb54442d18p0 : 0x1.921fb6p0)), x);
    r = ops.fused(quarters,
                  ops.splat(-static_cast<A>(is_double ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25)),
                  r);
    r = ops.fused(quarters,
                  ops.splat(-static_cast<A>(is_double ? -0x1.f1976b7ed8fbcp-110 : -0x1.ee59dap-50)),
                  r);
    constexpr int sine_terms = is_double ? 9 : 5, cosine_terms = is_double ? 10 : 6;
    Value const square = product(ops, r, r);
    Value const sine_series =
        terms_after<sine_terms - 2, 1>(ops, square, ops.splat(coefficient<sine_terms - 1, 1>()));
    Value const cosine_series = terms_after<cosine_terms - 2, 0>(
        ops, square, ops.splat(coefficient<cosine_terms - 1, 0>()));
    Value const sine = product(ops, sine_series, r);
    Bits const quarter_count = ops.bits_of(shifted_count), low_bit = ops.splat_bits(integer{1});
    Bits const swap_mask = ~((quarter_count & low_bit) + ops.splat_bits(~integer{0}));
    constexpr int sign_shift = static_cast<int>(8 * sizeof(A)) - 2;
    Bits const second_bit = ops.splat_bits(integer{2});
    Bits const sine_sign = (quarter_count & second_bit) << sign_shift,
               cosine_sign = ((quarter_count + low_bit) & second_bit) << sign_shift;
    return {ops.value_of(ops.bits_of(select(ops, swap_mask, cosine_series, sine)) ^ sine_sign),
            ops.value_of(ops.bits_of(select(ops, swap_mask, sine, cosine_series)) ^ cosine_sign)};
  }

  static SLICESORT_FEATURE_INLINE Value negated(Ops const& ops, Value const& a) {
    return ops.value_of(ops.bits_of(a) ^
                        ops.splat_bits(integer{1} << (8 * static_cast<int>(sizeof(A)) - 1)));
  }

 private:
  template <int K>
  static SLICESORT_FEATURE_INLINE Value exp_terms_after(Ops const& ops, Value const& r,
                                                        Value const& partial) {
    if constexpr (K < 0)
      return partial;
    else
      return exp_terms_after<K - 1>(
          ops, r, ops.fused(partial, r, ops.splat(2 * detail::reciprocal_factorial<A>(K))));
  }
  // Coefficients of the series of sin(r) / r (Odd = 1) and cos(r) (Odd = 0) in r^2.
  template <int K, int Odd>
  static SLICESORT_FEATURE_CONSTANT A coefficient() {
    return (K % 2 == 0 ? A(1) : A(-1)) * detail::reciprocal_factorial<A>(2 * K + Odd);
  }
  template <int K, int Odd>
  static SLICESORT_FEATURE_INLINE Value terms_after(Ops const& ops, Value const& square,
                                                    Value const& partial) {
    if constexpr (K < 0)
      return partial;
    else
      return terms_after<K - 1, Odd>(ops, square,
                                     ops.fused(partial, square, ops.splat(coefficient<K, Odd>())));
  }
};
