// SPDX-License-Identifier: Apache-2.0
// The gradient of y = T w through every iteration of Sinkhorn's algorithm (sinkhorn.hpp).
//
// Let C and R be the matrix T after an update of the columns' and of the rows' potentials. The
// gradient of the logits L = u w' gets T * (dy w') from the output, and -C * dh and -R * df from
// each update on the way back, where dh and df are the gradients of the updated potentials. Only
// the sums du[i] = sum_j dL[i][j] w[j] and dw[j] = sum_i dL[i][j] u[i] are computed, never L.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/sinkhorn_csp/sinkhorn.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// The step through y = T w: `a` holds dy and becomes df, `b` becomes dh, and du and dw get their
// first terms.
template <class Worker, class A>
SLICESORT_HD_INLINE void leave_mixture(Worker& worker, sinkhorn_group<A> const& m) {
  constexpr int lanes = Worker::lanes;
  sinkhorn_side<A> const columns{m.w, m.pitch, m.rows, m.pitch}, rows{m.u, 1, m.rows, m.pitch};
  lanes_of<A, lanes> p, own, sum, weighted, dy;
  for (index_t j = worker.first; j < m.rows; j += worker.step) {
    load_lanes(m.w + j * m.pitch, p);
    load_lanes(m.h + j * m.pitch, own);
    weigh<true>(worker, rows, m.f, m.a, p, own, sum, weighted);
    for (int l = 0; l < lanes; ++l) {
      index_t const at = j * m.pitch + l;
      m.b[at] = m.values[at] * sum[l];
      m.dw[at] = worker.multiply_add(m.values[at], weighted[l], sum[l]);
    }
  }
  worker.sync();
  for (index_t i = worker.first; i < m.rows; i += worker.step) {
    fill_lanes(m.u[i], p);
    load_lanes(m.f + i * m.pitch, own);
    weigh<false>(worker, columns, m.h, m.values, p, own, sum, weighted);
    load_lanes(m.a + i * m.pitch, dy);
    for (int l = 0; l < lanes; ++l) {
      sum[l] *= dy[l];
      weighted[l] *= dy[l];
    }
    store_lanes(sum, m.a + i * m.pitch);
    store_lanes(weighted, m.du + i * m.pitch);
  }
}

// Updates du or dw of a row: subtracts a potential's gradient times the mean of the other side
// under it.
template <class Worker, class A>
SLICESORT_HD_INLINE void subtract_mean(Worker& worker, A* value, A const* gradient, A const* mean) {
  for (int l = 0; l < Worker::lanes; ++l)
    value[l] = worker.multiply_add(-gradient[l], mean[l], value[l]);
}

// Computes du and dw from dy, which is in `a`, and from the history of `scale_group<true>`.
template <class Worker, class A>
SLICESORT_HD_INLINE void differentiate_group(Worker& worker, sinkhorn_group<A> const& m,
                                             index_t iterations) {
  constexpr int lanes = Worker::lanes;
  sinkhorn_side<A> const columns{m.w, m.pitch, m.rows, m.pitch}, rows{m.u, 1, m.rows, m.pitch};
  lanes_of<A, lanes> p, own, sum, weighted;
  leave_mixture(worker, m);
  for (index_t s = iterations - 1; s >= 0; --s) {
    // The step through the columns' potentials h, which were computed from the rows' f.
    bool const last = s == iterations - 1;
    for (index_t i = worker.first; i < m.rows; i += worker.step) {
      index_t const at = i * m.pitch;
      fill_lanes(m.u[i], p);
      load_lanes(m.past(s, 0) + at, own);
      store_lanes(own, m.f + at);
      weigh<false>(worker, columns, m.h, m.b, p, own, sum, weighted);
      for (int l = 0; l < lanes; ++l) {
        m.a[at + l] = (last ? m.a[at + l] : A{0}) - sum[l];
        m.du[at + l] -= weighted[l];
      }
      subtract_mean(worker, m.du + at, m.a + at, m.past(s, 2) + at);
      subtract_mean(worker, m.dw + at, m.b + at, m.past(s, 3) + at);
    }
    worker.sync();
    // The step through f, which was computed from the previous h (at first 0).
    for (index_t j = worker.first; j < m.rows; j += worker.step) {
      index_t const at = j * m.pitch;
      load_lanes(m.w + at, p);
      fill_lanes(A{0}, own);
      if (s > 0) load_lanes(m.past(s - 1, 1) + at, own);
      store_lanes(own, m.h + at);
      weigh<true>(worker, rows, m.f, m.a, p, own, sum, weighted);
      for (int l = 0; l < lanes; ++l) {
        m.b[at + l] = -sum[l];
        m.dw[at + l] -= weighted[l];
      }
    }
    worker.sync();
  }
}

SLICESORT_DETAIL_END
