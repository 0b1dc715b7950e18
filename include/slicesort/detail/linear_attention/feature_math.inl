// SPDX-License-Identifier: Apache-2.0
// The functions that feature maps are made of, as fixed sequences of fused multiply-adds and
// integer operations, so that numbers and lanes, host and device get the same bits. Included for
// single numbers by feature_math.hpp, where SLICESORT_FEATURE_INLINE is a function of host and
// device, and once per instruction set by host/kernels.inl.
//
// `Ops` has the types `number`, `bits` and `A`, that of a single number, and
//   fused(a, b, c)          a * b + c, rounded once
//   every(A), every_bits(integer)
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
    return ops.fused(a, b, ops.every(A(0)));
  }
  static SLICESORT_FEATURE_INLINE N sum(Ops const& ops, N const& a, N const& b) {
    return ops.fused(a, ops.every(A(1)), b);
  }
  // yes where the mask is all ones, no where it is 0.
  static SLICESORT_FEATURE_INLINE N either(Ops const& ops, B const& mask, N const& yes,
                                           N const& no) {
    return ops.number_of((ops.bits_of(yes) & mask) | (ops.bits_of(no) & ~mask));
  }
  // The number where the mask is all ones, else 0.
  static SLICESORT_FEATURE_INLINE N masked(Ops const& ops, B const& mask, N const& number) {
    return ops.number_of(ops.bits_of(number) & mask);
  }

  // exp(x) for x <= 0, to two units in the last place; 0 where that is no normal number, or hardly
  // one. A NaN stays one. See detail::exp_at_most_one: here the whole number n has the exponent's
  // bias less one in it, so that its bits make 2^(n - 1), or 0 for the least number that x is cut
  // off at; and the series is that of twice the exponential.
  static SLICESORT_FEATURE_INLINE N exponential(Ops const& ops, N const& any) {
    constexpr A whole = format::integer_shift + static_cast<A>(format::bias - 1);
    constexpr A least = static_cast<A>(-(format::bias - 1) * 0.6931471805599453);
    N const x = ops.higher(any, ops.every(least));
    N const biased = ops.fused(x, ops.every(static_cast<A>(1.4426950408889634)), ops.every(whole));
    N const power = sum(ops, biased, ops.every(-whole));
    N r = ops.fused(power, ops.every(-format::log2_high), x);
    r = ops.fused(power, ops.every(-format::log2_low), r);
    N const near_two = exp_terms_after<format::exp_terms - 2>(
        ops, r, ops.every(2 * detail::reciprocal_factorial<A>(format::exp_terms - 1)));
    return product(ops, near_two, ops.number_of(ops.bits_of(biased) << format::fraction_bits));
  }

  // sin(u) and cos(u), to two units in the last place of 1 for |u| up to a million; beyond 2^20 (in
  // double 2^40) those of the number at that limit. NaN stays one.
  struct sine_and_cosine {
    N sine, cosine;
  };
  static SLICESORT_FEATURE_INLINE sine_and_cosine sincos(Ops const& ops, N const& any) {
    constexpr bool wide = sizeof(A) == 8;
    constexpr A limit = wide ? static_cast<A>(1099511627776.0) : static_cast<A>(1048576.0);
    N const below = negated(ops, ops.higher(negated(ops, any), ops.every(-limit)));
    N const x = ops.higher(below, ops.every(-limit));
    // Quarters of a turn, rounded to a whole number: the last bits of the sum.
    N const counted = ops.fused(x, ops.every(static_cast<A>(0.63661977236758134308)),
                                ops.every(format::integer_shift));
    N const quarters = sum(ops, counted, ops.every(-format::integer_shift));
    // pi / 2 in three parts.
    N r = ops.fused(quarters, ops.every(-static_cast<A>(wide ? 0x1.921fb54442d18p0 : 0x1.921fb6p0)),
                    x);
    r = ops.fused(quarters,
                  ops.every(-static_cast<A>(wide ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25)), r);
    r = ops.fused(quarters,
                  ops.every(-static_cast<A>(wide ? -0x1.f1976b7ed8fbcp-110 : -0x1.ee59dap-50)), r);
    constexpr int sine_terms = wide ? 9 : 5, cosine_terms = wide ? 10 : 6;
    N const square = product(ops, r, r);
    N const odd =
        terms_after<sine_terms - 2, 1>(ops, square, ops.every(coefficient<sine_terms - 1, 1>()));
    N const even = terms_after<cosine_terms - 2, 0>(ops, square,
                                                    ops.every(coefficient<cosine_terms - 1, 0>()));
    N const sine = product(ops, odd, r);
    B const turn = ops.bits_of(counted), one = ops.every_bits(integer{1});
    B const swapped = ~((turn & one) + ops.every_bits(~integer{0}));
    constexpr int to_sign = static_cast<int>(8 * sizeof(A)) - 2;
    B const two = ops.every_bits(integer{2});
    B const sine_sign = (turn & two) << to_sign, cosine_sign = ((turn + one) & two) << to_sign;
    return {ops.number_of(ops.bits_of(either(ops, swapped, even, sine)) ^ sine_sign),
            ops.number_of(ops.bits_of(either(ops, swapped, sine, even)) ^ cosine_sign)};
  }

  static SLICESORT_FEATURE_INLINE N negated(Ops const& ops, N const& a) {
    return ops.number_of(ops.bits_of(a) ^
                         ops.every_bits(integer{1} << (8 * static_cast<int>(sizeof(A)) - 1)));
  }

 private:
  template <int K>
  static SLICESORT_FEATURE_INLINE N exp_terms_after(Ops const& ops, N const& r, N const& so_far) {
    if constexpr (K < 0)
      return so_far;
    else
      return exp_terms_after<K - 1>(
          ops, r, ops.fused(so_far, r, ops.every(2 * detail::reciprocal_factorial<A>(K))));
  }
  // Of the series of sin(r) / r (Odd = 1) and cos(r) in r^2.
  template <int K, int Odd>
  static SLICESORT_FEATURE_CONSTANT A coefficient() {
    return (K % 2 == 0 ? A(1) : A(-1)) * detail::reciprocal_factorial<A>(2 * K + Odd);
  }
  template <int K, int Odd>
  static SLICESORT_FEATURE_INLINE N terms_after(Ops const& ops, N const& square, N const& so_far) {
    if constexpr (K < 0)
      return so_far;
    else
      return terms_after<K - 1, Odd>(ops, square,
                                     ops.fused(so_far, square, ops.every(coefficient<K, Odd>())));
  }
};
