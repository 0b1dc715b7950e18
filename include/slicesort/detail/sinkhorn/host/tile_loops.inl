// SPDX-License-Identifier: Apache-2.0
// Vector loops of sinkhorn over tiles. Included once per instruction set, after lane_values.inl.

#define SLICESORT_SUMS_INLINE SLICESORT_INLINE
// clang-format off
#include <slicesort/detail/math/sinkhorn_sums.inl>
#undef SLICESORT_SUMS_INLINE
#include <slicesort/detail/sinkhorn/host/tile_copies.inl>
// clang-format on

template <class Scalar>
struct sinkhorn_loops {
  using A = Scalar;
  using ops_type = lane_values<A>;
  using V = typename ops_type::value;
  using math = fused_math<ops_type>;
  static constexpr int width = detail::sinkhorn_lanes<A>, count = value_lanes<A>::count,
                       vectors = width / count;
  using sums = sinkhorn_sums<math, V, vectors>;
  using values = typename sums::values;
  using terms = detail::tile_terms<A>;
  using step_vectors_type = detail::step_vectors<A>;
  using tile = detail::matrix_tile<A>;
  static constexpr ops_type ops{};

  static SLICESORT_INLINE V load(A const* from, int l) { return load_lanes<V>(from + l * count); }
  static SLICESORT_INLINE void load(A const* from, values& to) {
    for (int l = 0; l < vectors; ++l) to[l] = load(from, l);
  }
  static SLICESORT_INLINE void store(values const& from, A* to) {
    for (int l = 0; l < vectors; ++l) store_lanes(to + l * count, from[l]);
  }
  // Returns number k of a vector: one for all lanes if Shared, else one per lane.
  template <bool Shared>
  static SLICESORT_INLINE V number_of(A const* numbers, index_t k, int l) {
    if constexpr (Shared)
      return ops.splat(numbers[k]);
    else
      return load(numbers + k * width, l);
  }

  // Axes of sinkhorn_sums.inl. The lanes share the potentials of the terms if Shared.
  template <bool Shared>
  struct logit_axis : terms {
    static constexpr bool has_factors = false;

    SLICESORT_INLINE explicit logit_axis(terms const& t) : terms(t) {}
    SLICESORT_INLINE V logit(ops_type const&, index_t k, int l) const {
      return ops.fused(load(this->x + k * this->pitch, l), ops.splat(this->inverse_tau),
                       number_of<Shared>(this->potentials, k, l));
    }
  };
  template <bool Shared>
  struct element_axis : logit_axis<Shared> {
    values own;

    SLICESORT_INLINE element_axis(terms const& t, A const* own_potentials) : logit_axis<Shared>(t) {
      load(own_potentials, own);
    }
    SLICESORT_INLINE V exponent(ops_type const&, index_t k, int l) const {
      return math::exponent(ops, load(this->x + k * this->pitch, l), ops.splat(this->inverse_tau),
                            number_of<Shared>(this->potentials, k, l), own[l]);
    }
  };
  template <bool Shared>
  struct output_axis : element_axis<Shared> {
    A const* dy;
    values ratio;

    SLICESORT_INLINE output_axis(terms const& t, A const* own, A const* output_grads,
                                 values const& r)
        : element_axis<Shared>(t, own), dy(output_grads), ratio(r) {}
    SLICESORT_INLINE V value(index_t k, int l) const {
      return elementary<ops_type>::product(ops, load(dy + k * this->pitch, l), ratio[l]);
    }
  };
  template <bool Shared>
  struct potential_axis : element_axis<Shared> {
    A const* numbers;

    SLICESORT_INLINE potential_axis(terms const& t, A const* own, A const* potential_grads)
        : element_axis<Shared>(t, own), numbers(potential_grads) {}
    SLICESORT_INLINE V value(index_t k, int l) const { return number_of<Shared>(numbers, k, l); }
  };

  template <bool Shared>
  static SLICESORT_INLINE void normalize_lanes(terms const& t, A* potentials) {
    values potential, unused;
    sums::normalize(ops, logit_axis<Shared>(t), potential, unused);
    store(potential, potentials);
  }
  template <bool Shared>
  static SLICESORT_INLINE void sum_output_grads_of(terms const& t, A const* own, A const* dy,
                                                   A const* ratios, A* result) {
    values sum, unused, ratio;
    load(ratios, ratio);
    sums::sum_elements(ops, output_axis<Shared>(t, own, dy, ratio), sum, unused);
    store(sum, result);
  }
  template <bool Shared>
  static SLICESORT_INLINE void subtract_sums_of(terms const& t, A const* own, A const* grads,
                                                bool has_result, A* result) {
    values sum, unused, old{};
    sums::sum_elements(ops, potential_axis<Shared>(t, own, grads), sum, unused);
    if (has_result) load(result, old);
    for (int l = 0; l < vectors; ++l) old[l] = math::difference(ops, old[l], sum[l]);
    store(old, result);
  }

  // Position of an element: number of its row, and the first lane of its column's number.
  struct position {
    index_t row, column;
  };
  template <bool Shared>
  static SLICESORT_INLINE V element(V const& x, V const& scale, A const* row_potentials,
                                    A const* column_potentials, position p, int l) {
    return math::exponential(
        ops, math::exponent(ops, x, scale, number_of<Shared>(row_potentials, p.row, l),
                            load(column_potentials + p.column, l)));
  }
  // Returns dlogits of an element: dy propagated through T, minus the gradients of all potentials
  // propagated through theirs.
  template <bool Shared>
  static SLICESORT_INLINE V element_grad(V const& x, V const& dy, V const& scale, V const& ratio,
                                         detail::sinkhorn_steps steps,
                                         step_vectors_type const& step_vectors, position p, int l) {
    V sum{};
    for (index_t t = steps.count - 1; t >= 0; --t) {
      bool const rows = steps.normalizes_rows(t);
      A const* const own = step_vectors.potentials_of(t);
      A const* const other = step_vectors.potentials_of(t - 1);
      V const value = element<Shared>(x, scale, rows ? own : other, rows ? other : own, p, l);
      if (t == steps.count - 1)
        sum = elementary<ops_type>::product(ops, value,
                                            elementary<ops_type>::product(ops, dy, ratio));
      A const* const grads = step_vectors.grads_of(t);
      V const grad = rows ? number_of<Shared>(grads, p.row, l) : load(grads + p.column, l);
      sum = ops.fused(value, elementary<ops_type>::negated(ops, grad), sum);
    }
    return elementary<ops_type>::product(ops, sum, scale);
  }

  // Calls f(x, dy, position, l) for every vector of a tile.
  template <class F>
  static SLICESORT_INLINE void for_each_vector(tile const& t, F const& f) {
    for (index_t i = 0; i < t.rows; ++i)
      for (index_t j = 0; j < t.columns; ++j) {
        index_t const offset = (i * t.columns + j) * width;
        position const p{i, t.first_column + j * width};
        for (int l = 0; l < vectors; ++l)
          f(t.x + offset + l * count, t.dy + offset + l * count, p, l);
      }
  }
  template <bool Shared>
  static SLICESORT_INLINE void compute_elements_of(tile const& t) {
    V const scale = ops.splat(t.inverse_tau);
    index_t const last = t.steps.count - 1;
    A const *const own = t.vectors.potentials_of(last), *const other =
                                                            t.vectors.potentials_of(last - 1);
    A const *const rows = t.steps.rows_last ? own : other, *const columns =
                                                               t.steps.rows_last ? other : own;
    for_each_vector(t, [&](A* x, A*, position p, int l) {
      V const value = element<Shared>(load_lanes<V>(x), scale, rows, columns, p, l);
      store_lanes(x, elementary<ops_type>::product(ops, value, load(t.ratios, l)));
    });
  }
  template <bool Shared>
  static SLICESORT_INLINE void compute_element_grads_of(tile const& t) {
    V const scale = ops.splat(t.inverse_tau);
    for_each_vector(t, [&](A* x, A* dy, position p, int l) {
      store_lanes(dy, element_grad<Shared>(load_lanes<V>(x), load_lanes<V>(dy), scale,
                                           load(t.ratios, l), t.steps, t.vectors, p, l));
    });
  }

  // One matrix per lane, as the `Matrices` of half_steps.hpp.
  struct lane_matrices {
    tile const& t;

    // Calls f(number, terms) for every row or column. The terms have the potentials of a half-step.
    template <class F>
    SLICESORT_INLINE void for_each(bool rows, index_t step, F const& f) const {
      index_t const row_pitch = t.columns * width, numbers = rows ? t.rows : t.columns,
                    number_pitch = rows ? row_pitch : width;
      for (index_t number = 0; number < numbers; ++number)
        f(number, terms{t.x + number * number_pitch, rows ? index_t{width} : row_pitch,
                        rows ? t.columns : t.rows, t.vectors.potentials_of(step), t.inverse_tau});
    }
    SLICESORT_FLATTEN void normalize(index_t step, bool rows) const {
      A* const potentials = t.vectors.potentials_of(step);
      for_each(rows, step - 1, [&](index_t number, terms const& axis) {
        normalize_lanes<false>(axis, potentials + number * width);
      });
    }
    SLICESORT_FLATTEN void sum_output_grads(index_t step, bool rows) const {
      bool const is_last = step == t.steps.count - 1;
      for_each(rows, is_last ? step - 1 : step + 1, [&](index_t number, terms const& axis) {
        sum_output_grads_of<false>(axis, t.vectors.potentials_of(step) + number * width,
                                   t.dy + (axis.x - t.x), t.ratios,
                                   t.vectors.grads_of(step) + number * width);
      });
    }
    SLICESORT_FLATTEN void subtract_sums(index_t step, bool rows) const {
      for_each(rows, step + 1, [&](index_t number, terms const& axis) {
        subtract_sums_of<false>(axis, t.vectors.potentials_of(step) + number * width,
                                t.vectors.grads_of(step + 1), step == t.steps.count - 2,
                                t.vectors.grads_of(step) + number * width);
      });
    }
  };

  SLICESORT_FLATTEN static void normalize(terms const& axis, A* potentials) {
    normalize_lanes<true>(axis, potentials);
  }
  SLICESORT_FLATTEN static void sum_output_grads(terms const& axis, A const* own, A const* dy,
                                                 A const* ratios, A* result) {
    sum_output_grads_of<true>(axis, own, dy, ratios, result);
  }
  SLICESORT_FLATTEN static void subtract_sums(terms const& axis, A const* own, A const* grads,
                                              bool has_result, A* result) {
    subtract_sums_of<true>(axis, own, grads, has_result, result);
  }
  SLICESORT_FLATTEN static void compute_elements(tile const& t) { compute_elements_of<true>(t); }
  SLICESORT_FLATTEN static void compute_element_grads(tile const& t) {
    compute_element_grads_of<true>(t);
  }
  SLICESORT_FLATTEN static void forward(tile const& t) {
    lane_matrices const matrices{t};
    detail::compute_potentials(matrices, t.steps);
    compute_elements_of<false>(t);
  }
  SLICESORT_FLATTEN static void backward(tile const& t) {
    lane_matrices const matrices{t};
    detail::compute_potentials(matrices, t.steps);
    detail::compute_potential_grads(matrices, t.steps);
    compute_element_grads_of<false>(t);
  }
};

template <class T>
void choose_sinkhorn_kernels(target, sinkhorn_kernels<T>& table) {
  using loops = sinkhorn_loops<detail::accumulator_t<T>>;
  table.load = tile_copies<T>::load;
  table.store = tile_copies<T>::store;
  table.normalize = loops::normalize;
  table.sum_output_grads = loops::sum_output_grads;
  table.subtract_sums = loops::subtract_sums;
  table.compute_elements = loops::compute_elements;
  table.compute_element_grads = loops::compute_element_grads;
  table.forward = loops::forward;
  table.backward = loops::backward;
}
