// SPDX-License-Identifier: Apache-2.0
// Loops of sinkhorn over the terms of sums and over elements, for scalars (loops.hpp) and for the
// vectors of each instruction set (host/tile_kernels.inl). `Ops` is that of math/elementary.inl. A
// value has `Lanes` of them.
template <class Ops, int Lanes>
struct sinkhorn_loops {
  using A = typename Ops::A;
  using Value = typename Ops::value;
  using functions = elementary<Ops>;
  using math = fused_math<Ops>;
  using sums = sinkhorn_sums<math, Value, Lanes>;
  using values = typename sums::values;

  // Arithmetic of logits and potentials, the logarithms of factors.
  struct log_domain {
    Value scale;  // 1 / tau

    static SLICESORT_SUMS_INLINE Value shifted(Ops const& ops, Value const& potential,
                                               Value const& offset) {
      return functions::sum(ops, potential, offset);
    }
    template <class Axis>
    static SLICESORT_SUMS_INLINE void normalize(Ops const& ops, Axis const& axis,
                                                values& potential) {
      values unused;
      sums::normalize(ops, axis, potential, unused);
    }
    // Clamps elements that exceed 1 by rounding.
    SLICESORT_SUMS_INLINE Value element(Ops const& ops, Value const& x, Value const& first,
                                        Value const& second) const {
      Value const exponent = functions::sum(ops, ops.fused(x, scale, first), second);
      return functions::exponential(
          ops, math::difference(ops, exponent, ops.max(exponent, ops.splat(A(0)))));
    }
  };
  // Axes of sinkhorn_sums.inl. `x`, `potentials` and `weights` are functions of a term and a lane.
  template <class X, class Potentials>
  struct term_axis {
    static constexpr bool has_factors = false;
    log_domain domain;
    index_t size;
    X x;
    Potentials potentials;

    SLICESORT_SUMS_INLINE Value logit(Ops const& ops, index_t k, int l) const {
      return ops.fused(x(k, l), domain.scale, potentials(k, l));
    }
  };
  template <class Axis, class Weights>
  struct weighted_axis {
    static constexpr bool has_factors = false;
    Axis const& terms;
    index_t size;
    values const& lane_potentials;
    Weights weights;

    SLICESORT_SUMS_INLINE Value element(Ops const& ops, index_t k, int l) const {
      return terms.domain.element(ops, terms.x(k, l), terms.potentials(k, l), lane_potentials[l]);
    }
    SLICESORT_SUMS_INLINE Value value(Ops const&, index_t k, int l) const { return weights(k, l); }
  };
  // Computes potentials. offset(l) is log(rows / columns) for columns, and 0 for rows.
  template <class Axis, class Offset>
  static SLICESORT_SUMS_INLINE void normalize(Ops const& ops, Axis const& axis,
                                              Offset const& offset, A* potentials) {
    values potential;
    axis.domain.normalize(ops, axis, potential);
    for (int l = 0; l < Lanes; ++l)
      ops.store(axis.domain.shifted(ops, potential[l], offset(l)), potentials + l * Ops::count);
  }
  // Stores the sums of E * weights, where E is the matrix of a half-step. offset(l) is that of
  // `exponent_offset`.
  template <class Axis, class Offset, class Weights>
  static SLICESORT_SUMS_INLINE void sum_weighted(Ops const& ops, Axis const& axis,
                                                 A const* potentials, Offset const& offset,
                                                 Weights const& weights, A* result) {
    values const sum = weighted_sums(ops, axis, potentials, offset, weights);
    for (int l = 0; l < Lanes; ++l) ops.store(sum[l], result + l * Ops::count);
  }
  // Subtracts these sums from `result`, or from 0.
  template <class Axis, class Offset, class Weights>
  static SLICESORT_SUMS_INLINE void subtract_weighted(Ops const& ops, Axis const& axis,
                                                      A const* potentials, Offset const& offset,
                                                      Weights const& weights, bool has_result,
                                                      A* result) {
    values const sum = weighted_sums(ops, axis, potentials, offset, weights);
    for (int l = 0; l < Lanes; ++l) {
      A* const address = result + l * Ops::count;
      Value const minuend = has_result ? ops.load(address) : ops.splat(A(0));
      ops.store(math::difference(ops, minuend, sum[l]), address);
    }
  }
  // Returns the offset of the exponents of a half-step's matrix beside the potentials, with which
  // columns sum to 1, too: -log(rows / columns) if it normalizes columns, and 0 for rows.
  static SLICESORT_SUMS_INLINE Value exponent_offset(Ops const& ops, bool rows,
                                                     Value const& log_ratio) {
    return rows ? ops.splat(A(0)) : functions::negated(ops, log_ratio);
  }
  // Returns dlogits of an element: dy propagated through T, minus the gradients of the potentials
  // of every half-step propagated through its matrix. row_number(numbers) and
  // column_number(numbers) load the number of the element's row or column from a vector.
  template <class RowNumber, class ColumnNumber>
  static SLICESORT_SUMS_INLINE Value element_grad(Ops const& ops, log_domain const& domain,
                                                  Value const& x, Value const& weighted_dy,
                                                  Value const& log_ratio, sinkhorn_steps steps,
                                                  step_vectors<A> const& vectors,
                                                  RowNumber const& row_number,
                                                  ColumnNumber const& column_number) {
    Value sum = ops.splat(A(0));
    for (index_t t = steps.count - 1; t >= 0; --t) {
      bool const rows = steps.normalizes_rows(t);
      A const *const current = vectors.potentials_of(t),
                     *const previous = vectors.potentials_of(t - 1),
                     *const grads = vectors.grads_of(t);
      Value const column = domain.shifted(ops, column_number(rows ? previous : current),
                                          exponent_offset(ops, rows, log_ratio));
      Value const element = domain.element(ops, x, row_number(rows ? current : previous), column);
      if (t == steps.count - 1) sum = functions::product(ops, element, weighted_dy);
      Value const grad = rows ? row_number(grads) : column_number(grads);
      sum = ops.fused(element, functions::negated(ops, grad), sum);
    }
    return functions::product(ops, sum, domain.scale);
  }

 private:
  template <class Axis, class Offset, class Weights>
  static SLICESORT_SUMS_INLINE values weighted_sums(Ops const& ops, Axis const& axis,
                                                    A const* potentials, Offset const& offset,
                                                    Weights const& weights) {
    values lane_potentials, sum, unused;
    for (int l = 0; l < Lanes; ++l)
      lane_potentials[l] =
          axis.domain.shifted(ops, ops.load(potentials + l * Ops::count), offset(l));
    sums::sum_elements(ops, weighted_axis<Axis, Weights>{axis, axis.size, lane_potentials, weights},
                       sum, unused);
    return sum;
  }
};
