// SPDX-License-Identifier: Apache-2.0
// Vector loops of sinkhorn over tiles, for every instruction set. A tile has rows of
// `sinkhorn_lanes` values, [term][lane]. Lanes are rows or columns of a large matrix, or the
// matrices of neighboring samples.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/simd/lane_values.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
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

// A cache line of lanes on every instruction set, so that the workspace does not depend on it.
template <class A>
inline constexpr int sinkhorn_lanes = 64 / static_cast<int>(sizeof(A));

// Elements of a tensor that a tile holds, in memory at first + term * term_stride + lane *
// lane_stride.
template <class T>
struct tile_elements {
  T* first;
  index_t term_stride, lane_stride;
  index_t terms, lanes;
};

// Terms of the sums of a tile.
template <class A>
struct tile_terms {
  A const* x;           // logits, at x + term * pitch + lane
  index_t pitch;        // between terms
  index_t size;         // terms
  A const* potentials;  // of the terms, shared by the lanes
  A inverse_tau;
};

// Tile of `rows` x `columns` elements, with the term row * columns + column. Either each lane is a
// matrix of its own, and the vectors of half-steps are [row or column][lane]; or the lanes are
// columns of one matrix, from `first_column` on, and `columns` is 1.
template <class A>
struct matrix_tile {
  A *x, *dy;  // x becomes y, dy becomes dlogits
  index_t rows, columns, first_column;
  A const* ratios;  // per lane
  step_vectors<A> vectors;
  sinkhorn_steps steps;
  A inverse_tau;
};

template <class T>
struct sinkhorn_kernels {
  using A = accumulator_t<T>;

  // Loads a tile; lanes past `from.lanes` are 0.
  void (*load)(tile_elements<T const> const& from, A* tile);
  // Stores a tile, or adds it to the elements.
  void (*store)(A const* tile, tile_elements<T> const& to, grad_mode mode);
  // Computes the potential of each lane.
  void (*normalize)(tile_terms<A> const& terms, A* potentials);
  // Computes the sum of T * ratio * dy in each lane, whose potentials are `own`.
  void (*sum_output_grads)(tile_terms<A> const& terms, A const* own, A const* dy, A const* ratios,
                           A* sums);
  // Subtracts the sum of E * g in each lane from `result`, or from 0. `grads` are shared by the lanes.
  void (*subtract_sums)(tile_terms<A> const& terms, A const* own, A const* grads, bool has_result,
                        A* result);
  // Replace x by y, or dy by dlogits, in a tile of columns.
  void (*compute_elements)(matrix_tile<A> const& tile);
  void (*compute_element_grads)(matrix_tile<A> const& tile);
  // Compute y, or dlogits, in a tile of whole matrices.
  void (*forward)(matrix_tile<A> const& tile);
  void (*backward)(matrix_tile<A> const& tile);
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/sinkhorn/host/tile_loops.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class T>
sinkhorn_kernels<T> sinkhorn_kernels_of(isa requested) {
  sinkhorn_kernels<T> table{};
  with_isa(fused_isa(requested), [&](auto target) { choose_sinkhorn_kernels(target, table); });
  return table;
}

SLICESORT_DETAIL_END
