// SPDX-License-Identifier: Apache-2.0
// Vector kernels of sinkhorn on tiles. Included once per instruction set, after lane_values.inl.

#define SLICESORT_SUMS_INLINE SLICESORT_INLINE
#define SLICESORT_TILE_FUNCTION SLICESORT_FLATTEN
// clang-format off
#include <slicesort/detail/math/sinkhorn_sums.inl>
#include <slicesort/detail/sinkhorn/loops.inl>
#include <slicesort/detail/sinkhorn/logit_split.inl>
#include <slicesort/detail/sinkhorn/small_matrices.inl>
#include <slicesort/detail/sinkhorn/host/tile_copies.inl>
// clang-format on
#undef SLICESORT_SUMS_INLINE
#undef SLICESORT_TILE_FUNCTION

template <class A>
struct sinkhorn_tiles {
  using ops_type = lane_values<A>;
  using V = typename ops_type::value;
  static constexpr int width = detail::sinkhorn_lanes<A>, count = ops_type::count,
                       vectors = width / count;
  using loops = sinkhorn_loops<ops_type, vectors>;
  using domain = typename loops::log_domain;
  using functions = elementary<ops_type>;
  using terms = detail::tile_terms<A>;
  static constexpr ops_type ops{};

  SLICESORT_FLATTEN static void normalize(terms const& t, A* result) {
    loops::normalize(ops, axis(t), offset_of(t), result);
  }
  SLICESORT_FLATTEN static void sum_output_grads(terms const& t, A const* dy, A* result) {
    loops::sum_weighted(
        ops, axis(t), t.lane_potentials, offset_of(t),
        [&](index_t k, int l) {
          return functions::product(ops, load(dy + k * width, l), ops.splat(t.ratio));
        },
        result);
  }
  SLICESORT_FLATTEN static void subtract_sums(terms const& t, A const* grads, bool has_result,
                                              A* result) {
    loops::subtract_weighted(
        ops, axis(t), t.lane_potentials, offset_of(t),
        [&](index_t k, int) { return ops.splat(grads[k]); }, has_result, result);
  }
  SLICESORT_FLATTEN static void compute_elements(terms const& t) {
    domain const d{ops.splat(t.inverse_tau)};
    for_each_vector(t, [&](index_t i, V const& x, int l) {
      return functions::product(
          ops,
          d.element(ops, x, ops.splat(t.potentials[i]),
                    d.shifted(ops, load(t.lane_potentials, l), ops.splat(t.offset))),
          ops.splat(t.ratio));
    });
  }
  SLICESORT_FLATTEN static void compute_element_grads(terms const& t, A const* dy, A log_ratio,
                                                      index_t column, detail::sinkhorn_steps steps,
                                                      detail::step_vectors<A> const& step_vectors) {
    domain const d{ops.splat(t.inverse_tau)};
    for_each_vector(t, [&](index_t i, V const& x, int l) {
      return loops::element_grad(
          ops, d, x, functions::product(ops, load(dy + i * width, l), ops.splat(t.ratio)),
          ops.splat(log_ratio), steps, step_vectors,
          [&](A const* numbers) { return ops.splat(numbers[i]); },
          [&](A const* numbers) { return load(numbers + column, l); });
    });
  }
  SLICESORT_FLATTEN static void forward(detail::matrix_tile<A> const& tile) {
    small_matrices_loops<ops_type, vectors>::template run<false>(ops, tile);
  }
  SLICESORT_FLATTEN static void backward(detail::matrix_tile<A> const& tile) {
    small_matrices_loops<ops_type, vectors>::template run<true>(ops, tile);
  }

 private:
  static SLICESORT_INLINE V load(A const* numbers, int l) { return ops.load(numbers + l * count); }
  static SLICESORT_INLINE auto axis(terms const& t) {
    A const *const x = t.x, *const potentials = t.potentials;
    auto const elements = [=](index_t k, int l) { return load(x + k * width, l); };
    auto const numbers = [=](index_t k, int) { return ops.splat(potentials[k]); };
    return typename loops::template term_axis<decltype(elements), decltype(numbers)>{
        {ops.splat(t.inverse_tau)}, t.size, elements, numbers};
  }
  static SLICESORT_INLINE auto offset_of(terms const& t) {
    return [offset = t.offset](int) { return ops.splat(offset); };
  }
  // Replaces every vector x of row i by f(i, x, l).
  template <class F>
  static SLICESORT_INLINE void for_each_vector(terms const& t, F const& f) {
    for (index_t i = 0; i < t.size; ++i)
      for (int l = 0; l < vectors; ++l) {
        A* const x = t.x + i * width + l * count;
        ops.store(f(i, ops.load(x), l), x);
      }
  }
};

template <class T>
void choose_sinkhorn_kernels(target, sinkhorn_kernels<T>& table) {
  using tiles = sinkhorn_tiles<detail::accumulator_t<T>>;
  table.load = tile_copies<T>::load;
  table.store = tile_copies<T>::store;
  table.normalize = tiles::normalize;
  table.sum_output_grads = tiles::sum_output_grads;
  table.subtract_sums = tiles::subtract_sums;
  table.compute_elements = tiles::compute_elements;
  table.compute_element_grads = tiles::compute_element_grads;
  table.forward = tiles::forward;
  table.backward = tiles::backward;
}
