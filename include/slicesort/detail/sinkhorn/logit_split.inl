// SPDX-License-Identifier: Apache-2.0
// Splits the logits of a tile of small matrices into mantissas and exponents. Included before
// small_matrices.inl, which has the bounds of exponents.
template <class Ops, int Vectors>
struct logit_split {
  using A = typename Ops::A;
  using Value = typename Ops::value;
  using Bits = typename Ops::bits;
  using functions = elementary<Ops>;
  using math = fused_math<Ops>;
  using format = detail::binary_format<A>;
  using integer = typename format::integer;
  using tile = detail::matrix_tile<A>;

  // Exponents of the smallest logit, of minus infinity, and of sums that have no other terms.
  static constexpr A lowest_exponent = -static_cast<A>(integer{1} << (format::fraction_bits - 6)),
                     masked_exponent = -format::integer_shift,
                     empty_exponent = -format::integer_shift / 2;

  // Calls f(number, vector) for every vector of `count` rows or columns, or elements.
  template <class F>
  static SLICESORT_SUMS_INLINE void for_each_vector(index_t count, F const& f) {
    for (index_t number = 0; number < count; ++number)
      for (int v = 0; v < Vectors; ++v) f(number, v);
  }

  // Splits exp(logit / tau) into mantissas, in t.x, and exponents. Logits are relative to the
  // largest of their row; of their column, if the first half-step normalizes columns. Returns the
  // least exponent.
  static SLICESORT_SUMS_INLINE A split_logits(Ops const& ops, tile const& t) {
    bool const rows = t.steps.normalizes_rows(0);
    index_t const count = rows ? t.rows : t.columns, terms = rows ? t.columns : t.rows,
                  number_pitch = (rows ? t.columns : 1) * t.lanes,
                  pitch = (rows ? 1 : t.columns) * t.lanes;
    Value const scale = ops.splat(t.inverse_tau), lowest = ops.splat(-detail::max_finite<A>());
    Value negated_least = ops.splat(A(0));
    for_each_vector(count, [&](index_t number, int v) {
      index_t const first = number * number_pitch + v * Ops::count;
      Value maximum = lowest;
      for (index_t k = 0; k < terms; ++k)
        maximum =
            ops.max(maximum, functions::product(ops, ops.load(t.x + first + k * pitch), scale));
      for (index_t k = 0; k < terms; ++k) {
        A *const x = t.x + first + k * pitch, *const exponents = t.exponents + first + k * pitch;
        Value const logit = functions::product(ops, ops.load(x), scale);
        Value exponent;
        Value const mantissa = functions::twice_exponential(
            ops, math::difference(ops, logit, maximum), lowest_exponent, exponent);
        Bits const is_masked = ops.positive(math::difference(ops, lowest, logit));
        exponent = ops.value_of((ops.bits_of(exponent) & ~is_masked) |
                                (ops.bits_of(ops.splat(masked_exponent)) & is_masked));
        negated_least = ops.max(negated_least, functions::negated(ops, exponent));
        ops.store(ops.value_of(ops.bits_of(mantissa) & ~is_masked), x);
        ops.store(exponent, exponents);
      }
    });
    A lanes[std::size_t{Ops::count}];
    ops.store(negated_least, lanes);
    A largest = 0;
    for (A lane : lanes) largest = largest < lane ? lane : largest;
    return -largest;
  }
  // Multiplies the mantissas by the powers of two.
  static SLICESORT_SUMS_INLINE void join_exponents(Ops const& ops, tile const& t) {
    for_each_vector(t.rows * t.columns, [&](index_t k, int v) {
      index_t const offset = k * t.lanes + v * Ops::count;
      ops.store(
          functions::times_half_power(ops, ops.load(t.x + offset), ops.load(t.exponents + offset)),
          t.x + offset);
    });
  }
};
