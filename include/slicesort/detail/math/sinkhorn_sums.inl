// SPDX-License-Identifier: Apache-2.0
// Sums of Sinkhorn's algorithm over a row or a column of T, in a fixed order: `terms_per_partial`
// terms at a time, then the partial sums. Used by the operators sinkhorn and sinkhorn_csp.
// sinkhorn_sums.hpp includes this file for scalars, sinkhorn/host/tile_kernels.inl for each
// instruction set.
//
// `Math` has static functions of a worker `w` and values:
//   multiply_add(w, a, b, c), sum(w, a, b), difference(w, a, b), negated(w, a), divide(w, a, b)
//   max(w, a, b)                    the larger one; a if a is NaN
//   exponential(w, a), logarithm(w, a)
//   number(w, scalar)               the scalar as a value
// An axis has the terms k < size of a sum, for every lane l:
//   index_t size
//   static constexpr bool has_factors
//   logit(w, k, l)                  logit plus the potential of term k
//   element(w, k, l)                element of T
//   value(w, k, l), factor(k, l)    what elements are multiplied by

// One value per lane of a worker.
template <class Value, int Lanes>
struct lane_array {
  Value values[static_cast<std::size_t>(Lanes)];

  SLICESORT_SUMS_INLINE Value& operator[](int lane) { return values[lane]; }
  SLICESORT_SUMS_INLINE Value const& operator[](int lane) const { return values[lane]; }
};

template <class Math, class Value, int Lanes>
struct sinkhorn_sums {
  using A = typename Math::A;
  using values = lane_array<Value, Lanes>;

  // The error grows with the terms per partial sum plus the number of partial sums, not with their
  // product.
  static constexpr index_t terms_per_partial = 64;

  // Calls f(lane) for every lane. Lanes that are vectors are unrolled, so arrays of them stay in
  // registers.
  template <class F>
  static SLICESORT_SUMS_INLINE void for_each_lane(F const& f) {
    if constexpr (sizeof(Value) == sizeof(A)) {
      for (int l = 0; l < Lanes; ++l) f(l);
    } else {
      unrolled_lanes<0>(f);
    }
  }

  // Computes -log sum_k exp(logit[k]), the potential that makes a row (or column) of T sum to 1. If
  // the axis has factors, computes their mean weighted by that row, too. Terms of minus infinity
  // count as 0, even if all are.
  template <class Worker, class Axis>
  static SLICESORT_SUMS_INLINE void normalize(Worker& worker, Axis const& axis, values& potential,
                                              values& mean) {
    values maximum;
    fill(Math::number(worker, -detail::max_finite<A>()), maximum);
    for (index_t k = 0; k < axis.size; ++k)
      for_each_lane(
          [&](int l) { maximum[l] = Math::max(worker, maximum[l], axis.logit(worker, k, l)); });
    values sum, weighted;
    fill(Math::number(worker, A{0}), sum);
    fill(Math::number(worker, A{0}), weighted);
    for (index_t first = 0; first < axis.size; first += terms_per_partial) {
      index_t const end = end_of_partial(first, axis.size);
      values partial, weighted_partial;
      fill(Math::number(worker, A{0}), partial);
      fill(Math::number(worker, A{0}), weighted_partial);
      for (index_t k = first; k < end; ++k)
        for_each_lane([&](int l) {
          Value const term = Math::exponential(
              worker, Math::difference(worker, axis.logit(worker, k, l), maximum[l]));
          partial[l] = Math::sum(worker, partial[l], term);
          if constexpr (Axis::has_factors)
            weighted_partial[l] =
                Math::multiply_add(worker, term, axis.factor(k, l), weighted_partial[l]);
        });
      add(worker, partial, sum);
      if constexpr (Axis::has_factors) add(worker, weighted_partial, weighted);
    }
    for_each_lane([&](int l) {
      // The largest term is exp(0) = 1, unless all are 0 or compiler flags change roundings.
      Value const total = Math::max(worker, sum[l], Math::number(worker, A{1}));
      potential[l] =
          Math::negated(worker, Math::sum(worker, maximum[l], Math::logarithm(worker, total)));
      if constexpr (Axis::has_factors) mean[l] = Math::divide(worker, weighted[l], total);
    });
  }

  // Computes sum_k T[k] value[k] and, if the axis has factors, sum_k T[k] value[k] factor[k].
  template <class Worker, class Axis>
  static SLICESORT_SUMS_INLINE void sum_elements(Worker& worker, Axis const& axis, values& sum,
                                                 values& weighted) {
    fill(Math::number(worker, A{0}), sum);
    fill(Math::number(worker, A{0}), weighted);
    for (index_t first = 0; first < axis.size; first += terms_per_partial) {
      index_t const end = end_of_partial(first, axis.size);
      values partial, weighted_partial;
      fill(Math::number(worker, A{0}), partial);
      fill(Math::number(worker, A{0}), weighted_partial);
      for (index_t k = first; k < end; ++k)
        for_each_lane([&](int l) {
          Value const element = axis.element(worker, k, l);
          Value const value = axis.value(worker, k, l);
          partial[l] = Math::multiply_add(worker, element, value, partial[l]);
          if constexpr (Axis::has_factors)
            weighted_partial[l] =
                Math::multiply_add(worker, element * value, axis.factor(k, l), weighted_partial[l]);
        });
      add(worker, partial, sum);
      if constexpr (Axis::has_factors) add(worker, weighted_partial, weighted);
    }
  }

 private:
  template <int Lane, class F>
  static SLICESORT_SUMS_INLINE void unrolled_lanes(F const& f) {
    f(Lane);
    if constexpr (Lane + 1 < Lanes) unrolled_lanes<Lane + 1>(f);
  }
  static SLICESORT_SUMS_INLINE index_t end_of_partial(index_t first, index_t size) {
    return size - first < terms_per_partial ? size : first + terms_per_partial;
  }
  static SLICESORT_SUMS_INLINE void fill(Value value, values& lanes) {
    for_each_lane([&](int l) { lanes[l] = value; });
  }
  template <class Worker>
  static SLICESORT_SUMS_INLINE void add(Worker& worker, values const& partial, values& sum) {
    for_each_lane([&](int l) { sum[l] = Math::sum(worker, sum[l], partial[l]); });
  }
};

// Math of values that `Ops` of elementary.inl are: multiply-adds are fused.
template <class Ops>
struct fused_math {
  using functions = elementary<Ops>;
  using A = typename Ops::A;
  using Value = typename Ops::value;

  static SLICESORT_SUMS_INLINE Value multiply_add(Ops const& ops, Value const& a, Value const& b,
                                                  Value const& c) {
    return ops.fused(a, b, c);
  }
  static SLICESORT_SUMS_INLINE Value sum(Ops const& ops, Value const& a, Value const& b) {
    return functions::sum(ops, a, b);
  }
  static SLICESORT_SUMS_INLINE Value difference(Ops const& ops, Value const& a, Value const& b) {
    return ops.fused(b, ops.splat(A(-1)), a);
  }
  static SLICESORT_SUMS_INLINE Value negated(Ops const& ops, Value const& a) {
    return functions::negated(ops, a);
  }
  static SLICESORT_SUMS_INLINE Value max(Ops const& ops, Value const& a, Value const& b) {
    return ops.max(a, b);
  }
  static SLICESORT_SUMS_INLINE Value exponential(Ops const& ops, Value const& a) {
    return functions::exponential(ops, a);
  }
  static SLICESORT_SUMS_INLINE Value logarithm(Ops const& ops, Value const& a) {
    return functions::logarithm(ops, a);
  }
  static SLICESORT_SUMS_INLINE Value number(Ops const& ops, A a) { return ops.splat(a); }
  static SLICESORT_SUMS_INLINE Value divide(Ops const& ops, Value const& a, Value const& b) {
    return ops.divide(a, b);
  }
};
