// SPDX-License-Identifier: Apache-2.0
// Gradient of y = T w through every iteration of Sinkhorn's algorithm (sinkhorn.hpp).
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

// Backpropagates through y = T w. Replaces dy in `a` by df, stores dh in `b`, and initializes du
// and dw.
template <class Worker, class A>
SLICESORT_HD_INLINE void differentiate_mixture(Worker& worker, sinkhorn_group<A> const& group) {
  constexpr int lanes = Worker::lanes;
  sinkhorn_side<A> const columns{group.w, group.pitch, group.rows, group.pitch},
      rows{group.u, 1, group.rows, group.pitch};
  lanes_of<A, lanes> p, own_potential, sum, weighted, dy;
  for (index_t j = worker.first; j < group.rows; j += worker.step) {
    load_lanes(group.w + j * group.pitch, p);
    load_lanes(group.h + j * group.pitch, own_potential);
    weigh<true>(worker, rows, group.f, group.a, p, own_potential, sum, weighted);
    for (int l = 0; l < lanes; ++l) {
      index_t const offset = j * group.pitch + l;
      group.b[offset] = group.values[offset] * sum[l];
      group.dw[offset] = worker.multiply_add(group.values[offset], weighted[l], sum[l]);
    }
  }
  worker.sync();
  for (index_t i = worker.first; i < group.rows; i += worker.step) {
    fill_lanes(group.u[i], p);
    load_lanes(group.f + i * group.pitch, own_potential);
    weigh<false>(worker, columns, group.h, group.values, p, own_potential, sum, weighted);
    load_lanes(group.a + i * group.pitch, dy);
    for (int l = 0; l < lanes; ++l) {
      sum[l] *= dy[l];
      weighted[l] *= dy[l];
    }
    store_lanes(sum, group.a + i * group.pitch);
    store_lanes(weighted, group.du + i * group.pitch);
  }
}

// Subtracts the gradient of a potential times the mean of the other side from du or dw of a row.
template <class Worker, class A>
SLICESORT_HD_INLINE void subtract_mean(Worker& worker, A* value, A const* gradient, A const* mean) {
  for (int l = 0; l < Worker::lanes; ++l)
    value[l] = worker.multiply_add(-gradient[l], mean[l], value[l]);
}

// Computes du and dw from dy in `a` and from the history of `scale_group<true>`.
template <class Worker, class A>
SLICESORT_HD_INLINE void differentiate_group(Worker& worker, sinkhorn_group<A> const& group,
                                             index_t iterations) {
  constexpr int lanes = Worker::lanes;
  sinkhorn_side<A> const columns{group.w, group.pitch, group.rows, group.pitch},
      rows{group.u, 1, group.rows, group.pitch};
  lanes_of<A, lanes> p, own_potential, sum, weighted;
  differentiate_mixture(worker, group);
  for (index_t iteration = iterations - 1; iteration >= 0; --iteration) {
    // Backpropagates through the column potentials h, which were computed from f.
    bool const last = iteration == iterations - 1;
    for (index_t i = worker.first; i < group.rows; i += worker.step) {
      index_t const offset = i * group.pitch;
      fill_lanes(group.u[i], p);
      load_lanes(group.past(iteration, 0) + offset, own_potential);
      store_lanes(own_potential, group.f + offset);
      weigh<false>(worker, columns, group.h, group.b, p, own_potential, sum, weighted);
      for (int l = 0; l < lanes; ++l) {
        group.a[offset + l] = (last ? group.a[offset + l] : A{0}) - sum[l];
        group.du[offset + l] -= weighted[l];
      }
      subtract_mean(worker, group.du + offset, group.a + offset, group.past(iteration, 2) + offset);
      subtract_mean(worker, group.dw + offset, group.b + offset, group.past(iteration, 3) + offset);
    }
    worker.sync();
    // Backpropagates through the row potentials f, which were computed from the previous h
    // (initially 0).
    for (index_t j = worker.first; j < group.rows; j += worker.step) {
      index_t const offset = j * group.pitch;
      load_lanes(group.w + offset, p);
      fill_lanes(A{0}, own_potential);
      if (iteration > 0) load_lanes(group.past(iteration - 1, 1) + offset, own_potential);
      store_lanes(own_potential, group.h + offset);
      weigh<true>(worker, rows, group.f, group.a, p, own_potential, sum, weighted);
      for (int l = 0; l < lanes; ++l) {
        group.b[offset + l] = -sum[l];
        group.dw[offset + l] -= weighted[l];
      }
    }
    worker.sync();
  }
}

SLICESORT_DETAIL_END
