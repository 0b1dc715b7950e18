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

  // Axes of sinkhorn_sums.inl. `x`, `potentials` and `weights` are functions of a term and a lane.
  template <class Domain, class X, class Potentials>
  struct term_axis {
    static constexpr bool has_factors = false;
    Domain domain;
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
    values const& own;  // potentials of the lanes
    Weights weights;

    SLICESORT_SUMS_INLINE Value element(Ops const& ops, index_t k, int l) const {
      return terms.domain.element(ops, terms.x(k, l), terms.potentials(k, l), own[l]);
    }
    SLICESORT_SUMS_INLINE Value value(Ops const&, index_t k, int l) const { return weights(k, l); }
  };
  template <class Axis>
  struct scaled_axis {
    static constexpr bool has_factors = false;
    Axis const& terms;
    index_t size;

    SLICESORT_SUMS_INLINE Value element(Ops const&, index_t k, int l) const {
      return terms.x(k, l);
    }
    SLICESORT_SUMS_INLINE Value value(Ops const&, index_t k, int l) const {
      return terms.potentials(k, l);
    }
  };

  // Potentials are logarithms, and x is a logit.
  struct log_domain {
    Value scale;  // 1 / tau

    static SLICESORT_SUMS_INLINE A initial_potential() { return A(0); }
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
  // Potentials are factors, and x is an exponential.
  struct linear_domain {
    Value scale;  // 1 / tau

    static SLICESORT_SUMS_INLINE A initial_potential() { return A(1); }
    template <class Axis>
    static SLICESORT_SUMS_INLINE void normalize(Ops const& ops, Axis const& axis,
                                                values& potential) {
      values sum, unused;
      sums::sum_elements(ops, scaled_axis<Axis>{axis, axis.size}, sum, unused);
      for (int l = 0; l < Lanes; ++l) potential[l] = ops.divide(ops.splat(A(1)), sum[l]);
    }
    SLICESORT_SUMS_INLINE Value element(Ops const& ops, Value const& x, Value const& first,
                                        Value const& second) const {
      return functions::product(ops, functions::product(ops, x, first), second);
    }
  };

  template <class Axis>
  static SLICESORT_SUMS_INLINE void normalize(Ops const& ops, Axis const& axis, A* potentials) {
    values potential;
    axis.domain.normalize(ops, axis, potential);
    store(ops, potential, potentials);
  }
  // Stores the sums of T * weights, or subtracts them from `result`.
  template <class Axis, class Weights>
  static SLICESORT_SUMS_INLINE void sum_weighted(Ops const& ops, Axis const& axis,
                                                 A const* own_potentials, Weights const& weights,
                                                 A* result) {
    values own, sum, unused;
    load(ops, own_potentials, own);
    sums::sum_elements(ops, weighted_axis<Axis, Weights>{axis, axis.size, own, weights}, sum,
                       unused);
    store(ops, sum, result);
  }
  template <class Axis, class Weights>
  static SLICESORT_SUMS_INLINE void subtract_weighted(Ops const& ops, Axis const& axis,
                                                      A const* own_potentials,
                                                      Weights const& weights, bool has_result,
                                                      A* result) {
    values own, sum, unused;
    load(ops, own_potentials, own);
    sums::sum_elements(ops, weighted_axis<Axis, Weights>{axis, axis.size, own, weights}, sum,
                       unused);
    for (int l = 0; l < Lanes; ++l)
      sum[l] = math::difference(
          ops, has_result ? ops.load(result + l * Ops::count) : ops.splat(A(0)), sum[l]);
    store(ops, sum, result);
  }
  // Returns dlogits of an element: dy propagated through T, minus the gradients of the potentials
  // of every half-step propagated through its matrix. row_number(numbers) and
  // column_number(numbers) load the number of the element's row or column from a vector.
  template <class Domain, class RowNumber, class ColumnNumber>
  static SLICESORT_SUMS_INLINE Value element_grad(Ops const& ops, Domain const& domain,
                                                  Value const& x, Value const& weighted_dy,
                                                  sinkhorn_steps steps,
                                                  step_vectors<A> const& vectors,
                                                  RowNumber const& row_number,
                                                  ColumnNumber const& column_number) {
    Value sum = ops.splat(A(0));
    for (index_t t = steps.count - 1; t >= 0; --t) {
      bool const rows = steps.normalizes_rows(t);
      A const *const own = vectors.potentials_of(t), *const other = vectors.potentials_of(t - 1),
                     *const grads = vectors.grads_of(t);
      Value const element =
          domain.element(ops, x, row_number(rows ? own : other), column_number(rows ? other : own));
      if (t == steps.count - 1) sum = functions::product(ops, element, weighted_dy);
      Value const grad = rows ? row_number(grads) : column_number(grads);
      sum = ops.fused(element, functions::negated(ops, grad), sum);
    }
    return functions::product(ops, sum, domain.scale);
  }

 private:
  static SLICESORT_SUMS_INLINE void load(Ops const& ops, A const* from, values& to) {
    for (int l = 0; l < Lanes; ++l) to[l] = ops.load(from + l * Ops::count);
  }
  static SLICESORT_SUMS_INLINE void store(Ops const& ops, values const& from, A* to) {
    for (int l = 0; l < Lanes; ++l) ops.store(from[l], to + l * Ops::count);
  }
};
