// SPDX-License-Identifier: Apache-2.0
// The error function, and the normal distribution with its density, as fixed sequences of fused
// multiply-adds and integer operations. Scalars and SIMD lanes, host and device get the same bits.
// Included after elementary.inl, with the same `Ops`.
template <class Ops>
struct error_function {
  using Value = typename Ops::value;
  using Bits = typename Ops::bits;
  using A = typename Ops::A;
  using table = detail::erf_table<A>;
  using integer = typename detail::binary_format<A>::integer;
  using elementary_functions = elementary<Ops>;

  // Returns erf(x) with an error of up to 1.5 ulp. NaN propagates.
  static SLICESORT_MATH_INLINE Value erf(Ops const& ops, Value const& x) {
    constexpr integer sign_bit = integer{1} << (8 * static_cast<int>(sizeof(A)) - 1);
    Bits const sign = ops.bits_of(x) & ops.splat_bits(sign_bit);
    Value const magnitude = ops.value_of(ops.bits_of(x) ^ sign);
    // erf(limit) rounds to 1.
    Value const clamped = elementary_functions::negated(
        ops, ops.max(elementary_functions::negated(ops, magnitude), ops.splat(-table::limit)));
    Value const square = elementary_functions::product(ops, clamped, clamped);
    Value const inner = ops.fused(
        clamped,
        horner<table::inner_terms - 2, true>(
            ops, square, ops.splat(detail::erf_inner_coefficient<A>(table::inner_terms - 1))),
        clamped);
    Value const log_erfc = horner<table::outer_terms - 2, false>(
        ops, clamped, ops.splat(detail::erf_outer_coefficient<A>(table::outer_terms - 1)));
    Value const outer = ops.fused(elementary_functions::exponential(ops, log_erfc),
                                  ops.splat(A(-1)), ops.splat(A(1)));
    Bits const is_outer = ops.positive(elementary_functions::sum(ops, magnitude, ops.splat(A(-1))));
    return ops.value_of(((ops.bits_of(outer) & is_outer) | (ops.bits_of(inner) & ~is_outer)) ^
                        sign);
  }

  // Value and slope of the distribution function at a score.
  static SLICESORT_MATH_INLINE Value distribution(Ops const& ops,
                                                  detail::normal_constants<A> const& c,
                                                  Value const& score) {
    Value const half = ops.splat(static_cast<A>(0.5));
    return ops.fused(erf(ops, standard(ops, c, score)), half, half);
  }
  static SLICESORT_MATH_INLINE Value density(Ops const& ops, detail::normal_constants<A> const& c,
                                             Value const& score) {
    Value const z = standard(ops, c, score);
    Value const exponent =
        elementary_functions::product(ops, z, elementary_functions::negated(ops, z));
    return elementary_functions::product(ops, elementary_functions::exponential(ops, exponent),
                                         ops.splat(c.height));
  }

 private:
  static SLICESORT_MATH_INLINE Value standard(Ops const& ops, detail::normal_constants<A> const& c,
                                              Value const& score) {
    return ops.fused(score, ops.splat(c.factor), ops.splat(c.offset));
  }
  template <int K, bool IsInner>
  static SLICESORT_MATH_INLINE Value horner(Ops const& ops, Value const& x, Value const& partial) {
    if constexpr (K < 0) {
      return partial;
    } else {
      constexpr A coefficient =
          IsInner ? detail::erf_inner_coefficient<A>(K) : detail::erf_outer_coefficient<A>(K);
      return horner<K - 1, IsInner>(ops, x, ops.fused(partial, x, ops.splat(coefficient)));
    }
  }
};
