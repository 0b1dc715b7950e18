// SPDX-License-Identifier: Apache-2.0
// Elementary functions of the feature maps, in addition to math/elementary.inl, which has the
// rules. feature_math.hpp includes this file for scalars, host/simd_table.inl for each instruction
// set.
template <class Ops>
struct feature_math : elementary<Ops> {
  using base = elementary<Ops>;
  using base::negated;
  using base::product;
  using base::sum;
  using typename base::A;
  using typename base::Bits;
  using typename base::format;
  using typename base::integer;
  using typename base::Value;

  // Selects `yes` where the mask is all ones and `no` where it is 0.
  static SLICESORT_MATH_INLINE Value select(Ops const& ops, Bits const& mask, Value const& yes,
                                            Value const& no) {
    return ops.value_of((ops.bits_of(yes) & mask) | (ops.bits_of(no) & ~mask));
  }
  // Returns `x` where the mask is all ones, and 0 elsewhere.
  static SLICESORT_MATH_INLINE Value mask_bits(Ops const& ops, Bits const& mask, Value const& x) {
    return ops.value_of(ops.bits_of(x) & mask);
  }

  // Returns sine and cosine with an error of up to 2 ulp of 1 for |x| up to a million. |x| is
  // clamped to 2^20 (double: 2^40). NaN propagates.
  struct sine_and_cosine {
    Value sine, cosine;
  };
  static SLICESORT_MATH_INLINE sine_and_cosine sincos(Ops const& ops, Value const& argument) {
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

 private:
  // Coefficients of the series of sin(r) / r (Odd = 1) and cos(r) (Odd = 0) in r^2.
  template <int K, int Odd>
  static SLICESORT_MATH_CONSTANT A coefficient() {
    return (K % 2 == 0 ? A(1) : A(-1)) * detail::reciprocal_factorial<A>(2 * K + Odd);
  }
  template <int K, int Odd>
  static SLICESORT_MATH_INLINE Value terms_after(Ops const& ops, Value const& square,
                                                 Value const& partial) {
    if constexpr (K < 0)
      return partial;
    else
      return terms_after<K - 1, Odd>(ops, square,
                                     ops.fused(partial, square, ops.splat(coefficient<K, Odd>())));
  }
};
