// SPDX-License-Identifier: Apache-2.0
// Vector kernels of sinkhorn on tiles, for every instruction set. A tile has rows of
// `sinkhorn_lanes` values, [term][lane]. Lanes are rows or columns of a large matrix, or the
// matrices of neighboring samples.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/simd/lane_values.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/host/unfused.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/sinkhorn/half_steps.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Two cache lines of lanes on every instruction set: two independent vectors hide latencies, and
// the workspace does not depend on the set.
template <class A>
inline constexpr int sinkhorn_lanes = 128 / static_cast<int>(sizeof(A));

// Elements of a tensor that a tile holds, in memory at first + term * term_stride + lane *
// lane_stride.
template <class T>
struct tile_elements {
  T* first;
  index_t term_stride, lane_stride;
  index_t terms, lanes;
};

// Terms of the sums of a tile of rows or columns of one matrix.
template <class A>
struct tile_terms {
  A* x;                      // logits
  index_t size;              // number of terms
  A const* potentials;       // of the terms
  A const* lane_potentials;  // potentials of the lanes; not read by `normalize`
  A ratio;
  A offset;  // of the exponents or, for `normalize`, of the potentials
  A inverse_tau;
};

template <class T>
struct sinkhorn_kernels {
  using A = accumulator_t<T>;

  // Loads a tile; lanes past `from.lanes` are 0.
  void (*load)(tile_elements<T const> const& from, A* tile);
  // Stores a tile, or adds it to the elements.
  void (*store)(A const* tile, tile_elements<T> const& to, grad_mode mode);

  // Kernels of a tile of rows or columns. `result` has a value for each lane.
  void (*normalize)(tile_terms<A> const& terms, A* result);
  void (*sum_output_grads)(tile_terms<A> const& terms, A const* dy, A* result);
  // Subtracts from `result`, or from 0. `grads` are those of the terms.
  void (*subtract_sums)(tile_terms<A> const& terms, A const* grads, bool has_result, A* result);
  // Replace x by y, or by dlogits, in a tile of columns from `column` on.
  void (*compute_elements)(tile_terms<A> const& terms);
  void (*compute_element_grads)(tile_terms<A> const& terms, A const* dy, A log_ratio,
                                index_t column, sinkhorn_steps steps,
                                step_vectors<A> const& vectors);

  // Replace x by y, or by dlogits, in a tile of small matrices.
  void (*forward)(matrix_tile<A> const& tile);
  void (*backward)(matrix_tile<A> const& tile);
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/sinkhorn/host/tile_kernels.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class T>
sinkhorn_kernels<T> sinkhorn_kernels_of(isa requested) {
  sinkhorn_kernels<T> table{};
  with_isa(fused_isa(requested), [&](auto target) { choose_sinkhorn_kernels(target, table); });
  return table;
}

SLICESORT_DETAIL_END
