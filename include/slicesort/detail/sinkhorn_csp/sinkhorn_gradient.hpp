// SPDX-License-Identifier: Apache-2.0
// Gradient of y = T w through every iteration of Sinkhorn's algorithm. u, w, f and h are arrays of
// sinkhorn_group (sinkhorn.hpp).
//
// Let C and R be the matrix T after an update of the column potentials h and the row potentials f.
// The gradient dL of the logits L = u w' is the sum of T * (dy w') from the output and, for each
// update, -C * dh and -R * df, where dh and df are the gradients of the updated potentials. The
// kernels only compute du[i] = sum_j dL[i][j] w[j] and dw[j] = sum_i dL[i][j] u[i], never dL.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/sinkhorn_csp/sinkhorn.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Backpropagates through y = T w. Replaces dy, in the array of df, by df. Stores dh and initializes
// du and dw.
template <class Worker, class A>
SLICESORT_HD_INLINE void differentiate_mixture(Worker& worker, sinkhorn_group<A> const& group) {
  constexpr int lanes = Worker::lanes;
  lane_array<A, lanes> factor, own_potential, sum, weighted, dy;
  for (index_t j = worker.first; j < group.rows; j += worker.stride) {
    load_lanes(group.column_factors + j * group.pitch, factor);
    load_lanes(group.column_potentials + j * group.pitch, own_potential);
    compute_weighted_sums(worker, rows_of(group, factor), group.row_potential_grads, own_potential,
                          sum, weighted);
    for (int l = 0; l < lanes; ++l) {
      index_t const offset = j * group.pitch + l;
      group.column_potential_grads[offset] = group.values[offset] * sum[l];
      group.column_factor_grads[offset] =
          worker.multiply_add(group.values[offset], weighted[l], sum[l]);
    }
  }
  worker.sync();
  for (index_t i = worker.first; i < group.rows; i += worker.stride) {
    fill_lanes(group.row_factors[i], factor);
    load_lanes(group.row_potentials + i * group.pitch, own_potential);
    compute_weighted_sums(worker, columns_of(group, factor), group.values, own_potential, sum,
                          weighted);
    load_lanes(group.row_potential_grads + i * group.pitch, dy);
    for (int l = 0; l < lanes; ++l) {
      sum[l] *= dy[l];
      weighted[l] *= dy[l];
    }
    store_lanes(sum, group.row_potential_grads + i * group.pitch);
    store_lanes(weighted, group.row_factor_grads + i * group.pitch);
  }
}

// Subtracts the gradient of a potential, times the mean factor of the other axis, from du or dw of
// one row.
template <class Worker, class A>
SLICESORT_HD_INLINE void subtract_mean(Worker& worker, A* factor_grad, A const* potential_grad,
                                       A const* mean) {
  for (int l = 0; l < Worker::lanes; ++l)
    factor_grad[l] = worker.multiply_add(-potential_grad[l], mean[l], factor_grad[l]);
}

// Computes du and dw from dy, in the array of df, and the history of `compute_potentials<true>`.
template <class Worker, class A>
SLICESORT_HD_INLINE void differentiate_group(Worker& worker, sinkhorn_group<A> const& group,
                                             index_t iterations) {
  constexpr int lanes = Worker::lanes;
  lane_array<A, lanes> factor, own_potential, sum, weighted;
  differentiate_mixture(worker, group);
  for (index_t iteration = iterations - 1; iteration >= 0; --iteration) {
    // Backpropagates through the column potentials h, which were computed from f.
    bool const is_last = iteration == iterations - 1;
    for (index_t i = worker.first; i < group.rows; i += worker.stride) {
      index_t const offset = i * group.pitch;
      fill_lanes(group.row_factors[i], factor);
      load_lanes(group.history_of(iteration, sinkhorn_history::row_potentials) + offset,
                 own_potential);
      store_lanes(own_potential, group.row_potentials + offset);
      compute_weighted_sums(worker, columns_of(group, factor), group.column_potential_grads,
                            own_potential, sum, weighted);
      for (int l = 0; l < lanes; ++l) {
        group.row_potential_grads[offset + l] =
            (is_last ? group.row_potential_grads[offset + l] : A{0}) - sum[l];
        group.row_factor_grads[offset + l] -= weighted[l];
      }
      subtract_mean(worker, group.row_factor_grads + offset, group.row_potential_grads + offset,
                    group.history_of(iteration, sinkhorn_history::column_factor_means) + offset);
      subtract_mean(worker, group.column_factor_grads + offset,
                    group.column_potential_grads + offset,
                    group.history_of(iteration, sinkhorn_history::row_factor_means) + offset);
    }
    worker.sync();
    // Backpropagates through the row potentials f, which were computed from the previous h
    // (initially 0).
    for (index_t j = worker.first; j < group.rows; j += worker.stride) {
      index_t const offset = j * group.pitch;
      load_lanes(group.column_factors + offset, factor);
      fill_lanes(A{0}, own_potential);
      if (iteration > 0)
        load_lanes(group.history_of(iteration - 1, sinkhorn_history::column_potentials) + offset,
                   own_potential);
      store_lanes(own_potential, group.column_potentials + offset);
      compute_weighted_sums(worker, rows_of(group, factor), group.row_potential_grads,
                            own_potential, sum, weighted);
      for (int l = 0; l < lanes; ++l) {
        group.column_potential_grads[offset + l] = -sum[l];
        group.column_factor_grads[offset + l] -= weighted[l];
      }
    }
    worker.sync();
  }
}

SLICESORT_DETAIL_END
