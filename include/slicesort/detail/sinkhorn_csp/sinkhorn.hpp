// SPDX-License-Identifier: Apache-2.0
// Sinkhorn's algorithm on one group of rows, in the log domain, and its gradient. The matrix
// T[i][j] = exp(u[i] w[j] + f[i] + h[j]) is never stored.
//
// A *worker* is one thread of this algorithm:
//   static constexpr int lanes          // columns of the group that it processes side by side
//   index_t first, step                 // its rows: first, first + step, ..
//   void sync()                         // waits for the other workers of the group
//   A multiply_add(A a, A b, A c)       // c + a * b, rounded twice
//   A product(A a, A b)                 // a * b, also if it is the c of multiply_add
//   A divide(A a, A b)                  // a / b, rounded once
// Each sum is computed by one worker in a fixed order, so results do not depend on the number of
// workers.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Arrays of a group. The layout is [row][pitch], with one element per column, except for `u`: the
// reference divided by tau, shared by all columns.
template <class A>
struct sinkhorn_group {
  index_t rows, pitch;
  A* u;        // [rows]
  A* values;   // rows that T mixes
  A* w;        // same rows as factors of the logits
  A *f, *h;    // potentials of rows and columns
  A *a, *b;    // backward: gradients of f and h; `a` initially holds dy
  A *du, *dw;  // backward: gradients of u and w
  A* history;  // backward: [iterations][f, h, mean of w, mean of u][row][pitch]

  SLICESORT_HD A* past(index_t iteration, int array) const {
    return history + (iteration * 4 + array) * rows * pitch;
  }
};

// Rows or columns of T that a sum runs over.
template <class A>
struct sinkhorn_side {
  A const* values;
  index_t value_pitch;
  index_t rows, pitch;
};

// One value per column that a worker processes.
template <class A, int Lanes>
struct lanes_of {
  A number[static_cast<std::size_t>(Lanes)];

  SLICESORT_HD_INLINE A& operator[](int lane) { return number[lane]; }
  SLICESORT_HD_INLINE A const& operator[](int lane) const { return number[lane]; }
};

template <int Lanes, class A>
SLICESORT_HD_INLINE void load_lanes(A const* from, lanes_of<A, Lanes>& to) {
  for (int l = 0; l < Lanes; ++l) to[l] = from[l];
}
template <int Lanes, class A>
SLICESORT_HD_INLINE void store_lanes(lanes_of<A, Lanes> const& from, A* to) {
  for (int l = 0; l < Lanes; ++l) to[l] = from[l];
}
template <int Lanes, class A>
SLICESORT_HD_INLINE void fill_lanes(A value, lanes_of<A, Lanes>& to) {
  for (int l = 0; l < Lanes; ++l) to[l] = value;
}

// Length of the pieces of a sum. The error grows with the length plus the number of pieces, not
// with their product.
inline constexpr index_t sum_piece = 64;

// Returns -log sum_k exp(p q[k] + g[k]), the potential that makes a row (or column) of T sum to 1,
// and the mean of q under that row. With SharedValues, q has one value for all lanes.
template <bool SharedValues, class Worker, class A, int Lanes>
SLICESORT_HD_INLINE void normalize(Worker& worker, sinkhorn_side<A> const& side, A const* g,
                                   lanes_of<A, Lanes> const& p, lanes_of<A, Lanes>& potential,
                                   lanes_of<A, Lanes>& mean) {
  constexpr int lane_stride = SharedValues ? 0 : 1;
  lanes_of<A, Lanes> maximum;
  for (int l = 0; l < Lanes; ++l)
    maximum[l] = worker.multiply_add(p[l], side.values[l * lane_stride], g[l]);
  for (index_t k = 1; k < side.rows; ++k) {
    A const* const q = side.values + k * side.value_pitch;
    A const* const potentials = g + k * side.pitch;
    for (int l = 0; l < Lanes; ++l) {
      A const logit = worker.multiply_add(p[l], q[l * lane_stride], potentials[l]);
      maximum[l] = logit > maximum[l] ? logit : maximum[l];
    }
  }
  lanes_of<A, Lanes> sum, weighted;
  fill_lanes(A{0}, sum);
  fill_lanes(A{0}, weighted);
  for (index_t first = 0; first < side.rows; first += sum_piece) {
    index_t const last = side.rows - first < sum_piece ? side.rows : first + sum_piece;
    lanes_of<A, Lanes> piece_sum, weighted_piece_sum;
    fill_lanes(A{0}, piece_sum);
    fill_lanes(A{0}, weighted_piece_sum);
    for (index_t k = first; k < last; ++k) {
      A const* const q = side.values + k * side.value_pitch;
      A const* const potentials = g + k * side.pitch;
      for (int l = 0; l < Lanes; ++l) {
        A const logit = worker.multiply_add(p[l], q[l * lane_stride], potentials[l]);
        A const e = exp_at_most_one(worker, logit - maximum[l]);
        piece_sum[l] += e;
        weighted_piece_sum[l] = worker.multiply_add(e, q[l * lane_stride], weighted_piece_sum[l]);
      }
    }
    for (int l = 0; l < Lanes; ++l) {
      sum[l] += piece_sum[l];
      weighted[l] += weighted_piece_sum[l];
    }
  }
  for (int l = 0; l < Lanes; ++l) {
    // The largest term is exp(0) = 1, unless compiler flags change how products and sums round.
    A const total = sum[l] < A{1} ? A{1} : sum[l];
    potential[l] = -(maximum[l] + log_of_sum(worker, total));
    mean[l] = worker.divide(weighted[l], total);
  }
}

// Returns sum_k T[k] v[k] and sum_k T[k] v[k] q[k] for a row (or column) of T with the potential
// `own_potential`. Clamps elements of T that exceed 1 by rounding.
template <bool SharedValues, class Worker, class A, int Lanes>
SLICESORT_HD_INLINE void weigh(Worker& worker, sinkhorn_side<A> const& side, A const* g, A const* v,
                               lanes_of<A, Lanes> const& p, lanes_of<A, Lanes> const& own_potential,
                               lanes_of<A, Lanes>& sum, lanes_of<A, Lanes>& weighted) {
  constexpr int lane_stride = SharedValues ? 0 : 1;
  fill_lanes(A{0}, sum);
  fill_lanes(A{0}, weighted);
  for (index_t first = 0; first < side.rows; first += sum_piece) {
    index_t const last = side.rows - first < sum_piece ? side.rows : first + sum_piece;
    lanes_of<A, Lanes> piece_sum, weighted_piece_sum;
    fill_lanes(A{0}, piece_sum);
    fill_lanes(A{0}, weighted_piece_sum);
    for (index_t k = first; k < last; ++k) {
      A const* const q = side.values + k * side.value_pitch;
      A const* const potentials = g + k * side.pitch;
      A const* const values = v + k * side.pitch;
      for (int l = 0; l < Lanes; ++l) {
        A const logit =
            worker.multiply_add(p[l], q[l * lane_stride], potentials[l]) + own_potential[l];
        A const element = exp_at_most_one(worker, logit);
        piece_sum[l] = worker.multiply_add(element, values[l], piece_sum[l]);
        weighted_piece_sum[l] =
            worker.multiply_add(element * values[l], q[l * lane_stride], weighted_piece_sum[l]);
      }
    }
    for (int l = 0; l < Lanes; ++l) {
      sum[l] += piece_sum[l];
      weighted[l] += weighted_piece_sum[l];
    }
  }
}

// Computes f and h, starting from h = 0: normalizes the rows, then the columns, `iterations` times.
// With Kept, records the history for backward.
template <bool Kept, class Worker, class A>
SLICESORT_HD_INLINE void scale_group(Worker& worker, sinkhorn_group<A> const& group,
                                     index_t iterations) {
  constexpr int lanes = Worker::lanes;
  sinkhorn_side<A> const columns{group.w, group.pitch, group.rows, group.pitch},
      rows{group.u, 1, group.rows, group.pitch};
  lanes_of<A, lanes> p, potential, mean;
  fill_lanes(A{0}, potential);
  for (index_t j = worker.first; j < group.rows; j += worker.step)
    store_lanes(potential, group.h + j * group.pitch);
  worker.sync();
  for (index_t iteration = 0; iteration < iterations; ++iteration) {
    for (index_t i = worker.first; i < group.rows; i += worker.step) {
      fill_lanes(group.u[i], p);
      normalize<false>(worker, columns, group.h, p, potential, mean);
      store_lanes(potential, group.f + i * group.pitch);
      if constexpr (Kept) {
        store_lanes(potential, group.past(iteration, 0) + i * group.pitch);
        store_lanes(mean, group.past(iteration, 2) + i * group.pitch);
      }
    }
    worker.sync();
    for (index_t j = worker.first; j < group.rows; j += worker.step) {
      load_lanes(group.w + j * group.pitch, p);
      normalize<true>(worker, rows, group.f, p, potential, mean);
      store_lanes(potential, group.h + j * group.pitch);
      if constexpr (Kept) {
        store_lanes(potential, group.past(iteration, 1) + j * group.pitch);
        store_lanes(mean, group.past(iteration, 3) + j * group.pitch);
      }
    }
    worker.sync();
  }
}

// Computes row i of T w from the potentials of `scale_group`.
template <class Worker, class A, int Lanes>
SLICESORT_HD_INLINE void mix_row(Worker& worker, sinkhorn_group<A> const& group, index_t i,
                                 lanes_of<A, Lanes>& y) {
  lanes_of<A, Lanes> p, own_potential, unused;
  fill_lanes(group.u[i], p);
  load_lanes(group.f + i * group.pitch, own_potential);
  weigh<false>(worker, {group.w, group.pitch, group.rows, group.pitch}, group.h, group.values, p,
               own_potential, y, unused);
}

SLICESORT_DETAIL_END
