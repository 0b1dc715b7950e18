// SPDX-License-Identifier: Apache-2.0
// Elementary functions of the feature maps, as fixed sequences of fused multiply-adds and integer
// operations. Scalars and SIMD lanes, host and device get the same bits. feature_math.hpp includes
// this file for scalars, host/simd_table.inl once per instruction set.
//
// `Ops` has the types `number`, `bits` and `A`, the scalar type, and
//   fused(a, b, c)          a * b + c, rounded once
//   splat(A), splat_bits(integer)
//   bits_of(number), number_of(bits)
//   higher(a, b)            the larger one; a if it is a NaN
//   positive(a)             all ones where a > 0, else 0
template <class Ops>
struct feature_math {
  using N = typename Ops::number;
  using B = typename Ops::bits;
  using A = typename Ops::A;
  using format = detail::binary_format<A>;
  using integer = typename format::integer;

  static SLICESORT_FEATURE_INLINE N product(Ops const& ops, N const& a, N const& b) {
    return ops.fused(a, b, ops.splat(A(0)));
  }
  static SLICESORT_FEATURE_INLINE N sum(Ops const& ops, N const& a, N const& b) {
    return ops.fused(a, ops.splat(A(1)), b);
  }
  // Selects `yes` where the mask is all ones and `no` where it is 0.
  static SLICESORT_FEATURE_INLINE N select(Ops const& ops, B const& mask, N const& yes,
                                           N const& no) {
    return ops.number_of((ops.bits_of(yes) & mask) | (ops.bits_of(no) & ~mask));
  }
  // Returns `number` where the mask is all ones, and 0 elsewhere.
  static SLICESORT_FEATURE_INLINE N masked(Ops const& ops, B const& mask, N const& number) {
    return ops.number_of(ops.bits_of(number) & mask);
  }

  // exp(x) for x <= 0, with an error of up to 2 ulp. Subnormal results, and some slightly larger
  // ones, flush to 0; NaN propagates. Like detail::exp_at_most_one, with two differences. First,
  // the whole number n includes the exponent bias minus one, so its bits yield 2^(n - 1), or 0 at
  // the lower clamp of x. Second, the series computes twice the exponential.
  static SLICESORT_FEATURE_INLINE N exponential(Ops const& ops, N const& argument) {
    constexpr A shift = format::integer_shift + static_cast<A>(format::bias - 1);
    constexpr A lowest = static_cast<A>(-(format::bias - 1) * 0.6931471805599453);
    N const x = ops.higher(argument, ops.splat(lowest));
    N const biased = ops.fused(x, ops.splat(static_cast<A>(1.4426950408889634)), ops.splat(shift));
    N const power = sum(ops, biased, ops.splat(-shift));
    N r = ops.fused(power, ops.splat(-format::log2_high), x);
    r = ops.fused(power, ops.splat(-format::log2_low), r);
    N const near_two = exp_terms_after<format::exp_terms - 2>(
        ops, r, ops.splat(2 * detail::reciprocal_factorial<A>(format::exp_terms - 1)));
    return product(ops, near_two, ops.number_of(ops.bits_of(biased) << format::fraction_bits));
  }

  // sin(u) and cos(u), with an error of up to 2 ulp of 1 for |u| up to a million. |u| is clamped to
  // 2^20 (double: 2^40). NaN propagates.
  struct sine_and_cosine {
    N sine, cosine;
  };
  static SLICESORT_FEATURE_INLINE sine_and_cosine sincos(Ops const& ops, N const& argument) {
    constexpr bool wide = sizeof(A) == 8;
    constexpr A limit = wide ? static_cast<A>(1099511627776.0) : static_cast<A>(1048576.0);
    N const upper_clamped = negated(ops, ops.higher(negated(ops, argument), ops.splat(-limit)));
    N const x = ops.higher(upper_clamped, ops.splat(-limit));
    // Rounded number of quarter turns, in the low bits of the sum.
    N const shifted_count = ops.fused(x, ops.splat(static_cast<A>(0.63661977236758134308)),
                                      ops.splat(format::integer_shift));
    N const quarters = sum(ops, shifted_count, ops.splat(-format::integer_shift));
    // Subtracts the quarter turns with pi / 2 split into three parts.
    N r = ops.fused(quarters, ops.splat(-static_cast<A>(wide ? 0x1.921fb54442d18p0 : 0x1.921fb6p0)),
                    x);
    r = ops.fused(quarters,
                  ops.splat(-static_cast<A>(wide ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25)), r);
    r = ops.fused(quarters,
                  ops.splat(-static_cast<A>(wide ? -0x1.f1976b7ed8fbcp-110 : -0x1.ee59dap-50)), r);
    constexpr int sine_terms = wide ? 9 : 5, cosine_terms = wide ? 10 : 6;
    N const square = product(ops, r, r);
    N const sine_series =
        terms_after<sine_terms - 2, 1>(ops, square, ops.splat(coefficient<sine_terms - 1, 1>()));
    N const cosine_series = terms_after<cosine_terms - 2, 0>(
        ops, square, ops.splat(coefficient<cosine_terms - 1, 0>()));
    N const sine = product(ops, sine_series, r);
    B const turns = ops.bits_of(shifted_count), bit = ops.splat_bits(integer{1});
    B const swapped = ~((turns & bit) + ops.splat_bits(~integer{0}));
    constexpr int to_sign = static_cast<int>(8 * sizeof(A)) - 2;
    B const second_bit = ops.splat_bits(integer{2});
    B const sine_sign = (turns & second_bit) << to_sign, cosine_sign = ((turns + bit) & second_bit)
                                                                       << to_sign;
    return {ops.number_of(ops.bits_of(select(ops, swapped, cosine_series, sine)) ^ sine_sign),
            ops.number_of(ops.bits_of(select(ops, swapped, sine, cosine_series)) ^ cosine_sign)};
  }

  static SLICESORT_FEATURE_INLINE N negated(Ops const& ops, N const& a) {
    return ops.number_of(ops.bits_of(a) ^
                         ops.splat_bits(integer{1} << (8 * static_cast<int>(sizeof(A)) - 1)));
  }

 private:
  template <int K>
  static SLICESORT_FEATURE_INLINE N exp_terms_after(Ops const& ops, N const& r, N const& partial) {
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
  static SLICESORT_FEATURE_INLINE N terms_after(Ops const& ops, N const& square, N const& partial) {
    if constexpr (K < 0)
      return partial;
    else
      return terms_after<K - 1, Odd>(ops, square,
                                     ops.fused(partial, square, ops.splat(coefficient<K, Odd>())));
  }
};
