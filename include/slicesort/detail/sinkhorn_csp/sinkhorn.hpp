// SPDX-License-Identifier: Apache-2.0
// Sinkhorn's algorithm on one group of rows, in the log domain. The transport matrix of a channel,
// T[i][j] = exp(u[i] w[j] + f[i] + h[j]), is never stored.
//
// A *worker* is one thread of this algorithm:
//   static constexpr int lanes          // channels that it processes side by side
//   index_t first, stride               // its rows: first, first + stride, ...
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

// Arrays that are saved for every iteration. Means of factors are weighted by a row or column of T.
enum class sinkhorn_history {
  row_potentials,
  column_potentials,
  column_factor_means,
  row_factor_means
};
inline constexpr int sinkhorn_history_arrays = 4;

// Arrays of a group, with the letters of the formulas. The layout is [row][pitch], with one element
// per channel; channels share `row_factors`.
template <class A>
struct sinkhorn_group {
  index_t rows, pitch;
  A* row_factors;             // u, [rows]: reference channel divided by tau
  A* values;                  // rows that T mixes
  A* column_factors;          // w: the values, clamped
  A* row_potentials;          // f
  A* column_potentials;       // h
  A* row_potential_grads;     // backward: df; dy at first
  A* column_potential_grads;  // backward: dh
  A* row_factor_grads;        // backward: du
  A* column_factor_grads;     // backward: dw
  A* history;                 // backward: [iterations][sinkhorn_history][row][pitch]

  SLICESORT_HD A* history_of(index_t iteration, sinkhorn_history array) const {
    return history + (iteration * sinkhorn_history_arrays + static_cast<int>(array)) * rows * pitch;
  }
};

// Rows or columns of T that a sum runs over, with their factors of the logits. `pitch` is that of
// the potentials.
template <class A>
struct summed_axis {
  A const* factors;
  index_t factor_pitch;
  index_t size, pitch;
};

// One value per channel that a worker processes.
template <class A, int Lanes>
struct lane_array {
  A values[static_cast<std::size_t>(Lanes)];

  SLICESORT_HD_INLINE A& operator[](int lane) { return values[lane]; }
  SLICESORT_HD_INLINE A const& operator[](int lane) const { return values[lane]; }
};

template <int Lanes, class A>
SLICESORT_HD_INLINE void load_lanes(A const* from, lane_array<A, Lanes>& to) {
  for (int l = 0; l < Lanes; ++l) to[l] = from[l];
}
template <int Lanes, class A>
SLICESORT_HD_INLINE void store_lanes(lane_array<A, Lanes> const& from, A* to) {
  for (int l = 0; l < Lanes; ++l) to[l] = from[l];
}
template <int Lanes, class A>
SLICESORT_HD_INLINE void fill_lanes(A value, lane_array<A, Lanes>& to) {
  for (int l = 0; l < Lanes; ++l) to[l] = value;
}

// Terms per partial sum. The error grows with the terms per partial sum plus the number of partial
// sums, not with their product.
inline constexpr index_t terms_per_partial_sum = 64;

// Computes -log sum_k exp(factor * factors[k] + potentials[k]), the potential that makes a row (or
// column) of T sum to 1, and the mean of `factors` weighted by that row. With SharedFactors, the
// lanes share `axis.factors`.
template <bool SharedFactors, class Worker, class A, int Lanes>
SLICESORT_HD_INLINE void normalize(Worker& worker, summed_axis<A> const& axis,
                                   A const* axis_potentials, lane_array<A, Lanes> const& factor,
                                   lane_array<A, Lanes>& potential, lane_array<A, Lanes>& mean) {
  constexpr int lane_stride = SharedFactors ? 0 : 1;
  lane_array<A, Lanes> maximum;
  for (int l = 0; l < Lanes; ++l)
    maximum[l] = worker.multiply_add(factor[l], axis.factors[l * lane_stride], axis_potentials[l]);
  for (index_t k = 1; k < axis.size; ++k) {
    A const* const factors = axis.factors + k * axis.factor_pitch;
    A const* const potentials = axis_potentials + k * axis.pitch;
    for (int l = 0; l < Lanes; ++l) {
      A const logit = worker.multiply_add(factor[l], factors[l * lane_stride], potentials[l]);
      maximum[l] = logit > maximum[l] ? logit : maximum[l];
    }
  }
  lane_array<A, Lanes> sum, weighted;
  fill_lanes(A{0}, sum);
  fill_lanes(A{0}, weighted);
  for (index_t first = 0; first < axis.size; first += terms_per_partial_sum) {
    index_t const end =
        axis.size - first < terms_per_partial_sum ? axis.size : first + terms_per_partial_sum;
    lane_array<A, Lanes> partial_sum, weighted_partial_sum;
    fill_lanes(A{0}, partial_sum);
    fill_lanes(A{0}, weighted_partial_sum);
    for (index_t k = first; k < end; ++k) {
      A const* const factors = axis.factors + k * axis.factor_pitch;
      A const* const potentials = axis_potentials + k * axis.pitch;
      for (int l = 0; l < Lanes; ++l) {
        A const logit = worker.multiply_add(factor[l], factors[l * lane_stride], potentials[l]);
        A const term = exp_at_most_one(worker, logit - maximum[l]);
        partial_sum[l] += term;
        weighted_partial_sum[l] =
            worker.multiply_add(term, factors[l * lane_stride], weighted_partial_sum[l]);
      }
    }
    for (int l = 0; l < Lanes; ++l) {
      sum[l] += partial_sum[l];
      weighted[l] += weighted_partial_sum[l];
    }
  }
  for (int l = 0; l < Lanes; ++l) {
    // The largest term is exp(0) = 1, unless compiler flags change how products and sums round.
    A const total = sum[l] < A{1} ? A{1} : sum[l];
    potential[l] = -(maximum[l] + log_normal_value(worker, total));
    mean[l] = worker.divide(weighted[l], total);
  }
}

// Computes sum_k T[k] values[k] and sum_k T[k] values[k] factors[k] for a row (or column) of T with
// this factor and `own_potential`. Clamps elements of T that exceed 1 by rounding.
template <bool SharedFactors, class Worker, class A, int Lanes>
SLICESORT_HD_INLINE void compute_weighted_sums(Worker& worker, summed_axis<A> const& axis,
                                               A const* axis_potentials, A const* axis_values,
                                               lane_array<A, Lanes> const& factor,
                                               lane_array<A, Lanes> const& own_potential,
                                               lane_array<A, Lanes>& sum,
                                               lane_array<A, Lanes>& weighted) {
  constexpr int lane_stride = SharedFactors ? 0 : 1;
  fill_lanes(A{0}, sum);
  fill_lanes(A{0}, weighted);
  for (index_t first = 0; first < axis.size; first += terms_per_partial_sum) {
    index_t const end =
        axis.size - first < terms_per_partial_sum ? axis.size : first + terms_per_partial_sum;
    lane_array<A, Lanes> partial_sum, weighted_partial_sum;
    fill_lanes(A{0}, partial_sum);
    fill_lanes(A{0}, weighted_partial_sum);
    for (index_t k = first; k < end; ++k) {
      A const* const factors = axis.factors + k * axis.factor_pitch;
      A const* const potentials = axis_potentials + k * axis.pitch;
      A const* const values = axis_values + k * axis.pitch;
      for (int l = 0; l < Lanes; ++l) {
        A const logit = worker.multiply_add(factor[l], factors[l * lane_stride], potentials[l]) +
                        own_potential[l];
        A const element = exp_at_most_one(worker, logit);
        partial_sum[l] = worker.multiply_add(element, values[l], partial_sum[l]);
        weighted_partial_sum[l] = worker.multiply_add(element * values[l], factors[l * lane_stride],
                                                      weighted_partial_sum[l]);
      }
    }
    for (int l = 0; l < Lanes; ++l) {
      sum[l] += partial_sum[l];
      weighted[l] += weighted_partial_sum[l];
    }
  }
}

// Computes f and h, starting from h = 0: normalizes the rows, then the columns, `iterations` times.
// With SaveHistory, saves the history for backward.
template <bool SaveHistory, class Worker, class A>
SLICESORT_HD_INLINE void compute_potentials(Worker& worker, sinkhorn_group<A> const& group,
                                            index_t iterations) {
  constexpr int lanes = Worker::lanes;
  summed_axis<A> const columns{group.column_factors, group.pitch, group.rows, group.pitch},
      rows{group.row_factors, 1, group.rows, group.pitch};
  lane_array<A, lanes> factor, potential, mean;
  fill_lanes(A{0}, potential);
  for (index_t j = worker.first; j < group.rows; j += worker.stride)
    store_lanes(potential, group.column_potentials + j * group.pitch);
  worker.sync();
  for (index_t iteration = 0; iteration < iterations; ++iteration) {
    for (index_t i = worker.first; i < group.rows; i += worker.stride) {
      fill_lanes(group.row_factors[i], factor);
      normalize<false>(worker, columns, group.column_potentials, factor, potential, mean);
      store_lanes(potential, group.row_potentials + i * group.pitch);
      if constexpr (SaveHistory) {
        store_lanes(potential, group.history_of(iteration, sinkhorn_history::row_potentials) +
                                   i * group.pitch);
        store_lanes(mean, group.history_of(iteration, sinkhorn_history::column_factor_means) +
                              i * group.pitch);
      }
    }
    worker.sync();
    for (index_t j = worker.first; j < group.rows; j += worker.stride) {
      load_lanes(group.column_factors + j * group.pitch, factor);
      normalize<true>(worker, rows, group.row_potentials, factor, potential, mean);
      store_lanes(potential, group.column_potentials + j * group.pitch);
      if constexpr (SaveHistory) {
        store_lanes(potential, group.history_of(iteration, sinkhorn_history::column_potentials) +
                                   j * group.pitch);
        store_lanes(mean, group.history_of(iteration, sinkhorn_history::row_factor_means) +
                              j * group.pitch);
      }
    }
    worker.sync();
  }
}

// Computes row i of T w from the potentials of `compute_potentials`.
template <class Worker, class A, int Lanes>
SLICESORT_HD_INLINE void mix_row(Worker& worker, sinkhorn_group<A> const& group, index_t i,
                                 lane_array<A, Lanes>& y) {
  lane_array<A, Lanes> factor, own_potential, unused;
  fill_lanes(group.row_factors[i], factor);
  load_lanes(group.row_potentials + i * group.pitch, own_potential);
  compute_weighted_sums<false>(worker, {group.column_factors, group.pitch, group.rows, group.pitch},
                               group.column_potentials, group.values, factor, own_potential, y,
                               unused);
}

SLICESORT_DETAIL_END
