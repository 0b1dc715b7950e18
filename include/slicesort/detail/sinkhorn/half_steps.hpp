// SPDX-License-Identifier: Apache-2.0
// The order of half-steps, forward and backward, for every backend.
//
// Let E_t be the matrix exp(logits / tau + u + w) after half-step t, divided by rows / columns if t
// normalizes columns: its rows or its columns sum to 1. The gradients g of the potentials of the
// last two half-steps start with the row or column sums of T * dy. From the last half-step on,
// half-step t subtracts the sums of E_t * g_t from the gradients of the potentials that it read,
// those of half-step t - 1. Then tau * dlogits = T * dy - sum over t of E_t * g_t.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Vectors of half-steps, each of `pitch` values: the potentials of a half-step, and their
// gradients. Half-step -1 stands for the initial potentials. Forward keeps the potentials of two
// half-steps only, and has no gradients.
template <class A>
struct step_vectors {
  A *potentials, *grads;
  A* exponents;  // of potentials that are mantissas (small_matrices.inl)
  index_t pitch;
  bool keeps_all;

  SLICESORT_HD A* potentials_of(index_t step) const { return potentials + offset_of(step); }
  SLICESORT_HD A* exponents_of(index_t step) const { return exponents + offset_of(step); }
  SLICESORT_HD A* grads_of(index_t step) const { return grads + step * pitch; }
  SLICESORT_HD index_t offset_of(index_t step) const {
    return (keeps_all ? step + 1 : (step + 1) % 2) * pitch;
  }
};

// Tile of small matrices, one per lane. Element (i, j) of lane l is at
// (i * columns + j) * lanes + l. The vectors of half-steps are [row or column][lane].
template <class A>
struct matrix_tile {
  A* x;                              // logits, replaced by mantissas and by the result
  A* exponents;                      // of these mantissas
  A const* dy;                       // backward
  A const *ratios, *inverse_ratios;  // per lane: rows / columns (matrix_size)
  index_t rows, columns, lanes;
  step_vectors<A> vectors;
  sinkhorn_steps steps;
  A inverse_tau;
};

// `Matrices` has, where `rows` is true for a row of each potential and false for a column:
//   normalize(step, rows)          computes the potentials of a half-step from those before it
//   sum_output_grads(step, rows)   computes the sums of T * dy as gradients of its potentials
//   subtract_sums(step, rows)      subtracts the sums of E_(step + 1) * g from these gradients,
//                                  which start at 0 unless sum_output_grads has computed them
SLICESORT_HD_UNCHECKED
template <class Matrices>
SLICESORT_HD_INLINE void compute_potentials(Matrices& matrices, sinkhorn_steps steps) {
  for (index_t t = 0; t < steps.count; ++t) matrices.normalize(t, steps.normalizes_rows(t));
}
SLICESORT_HD_UNCHECKED
template <class Matrices>
SLICESORT_HD_INLINE void compute_potential_grads(Matrices& matrices, sinkhorn_steps steps) {
  index_t const last = steps.count - 1;
  for (index_t t = last; t >= 0 && t >= last - 1; --t)
    matrices.sum_output_grads(t, steps.normalizes_rows(t));
  for (index_t t = last - 1; t >= 0; --t) matrices.subtract_sums(t, steps.normalizes_rows(t));
}

SLICESORT_DETAIL_END
