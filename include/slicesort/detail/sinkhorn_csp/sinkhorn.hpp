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
#include <slicesort/detail/math/sinkhorn_sums.hpp>
#include <slicesort/tensor_view.hpp>

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

// Arithmetic of sinkhorn_sums.inl: products and sums are rounded separately.
template <class Value>
struct unfused_math {
  using A = Value;

  template <class Worker>
  static SLICESORT_HD_INLINE A multiply_add(Worker& worker, A a, A b, A c) {
    return worker.multiply_add(a, b, c);
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A divide(Worker& worker, A a, A b) {
    return worker.divide(a, b);
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A exponential(Worker& worker, A a) {
    return exp_at_most_one(worker, a);
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A logarithm(Worker& worker, A a) {
    return log_normal_value(worker, a);
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A sum(Worker&, A a, A b) {
    return a + b;
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A difference(Worker&, A a, A b) {
    return a - b;
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A negated(Worker&, A a) {
    return -a;
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A max(Worker&, A a, A b) {
    return a < b ? b : a;
  }
  template <class Worker>
  static SLICESORT_HD_INLINE A number(Worker&, A a) {
    return a;
  }
};
template <class A, int Lanes>
using group_sums = sinkhorn_sums<unfused_math<A>, A, Lanes>;

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

// A row or column of T that a sum runs over, as an axis of sinkhorn_sums.inl. `pitch` is that of
// the potentials. With SharedFactors, the lanes share `factors`.
template <class A, int Lanes, bool SharedFactors>
struct group_axis {
  static constexpr bool has_factors = true;

  A const* factors;
  index_t factor_pitch;
  index_t size, pitch;
  A const* potentials;
  lane_array<A, Lanes> const& own_factor;

  SLICESORT_HD_INLINE group_axis(sinkhorn_group<A> const& group, A const* axis_factors,
                                 index_t pitch_of_factors, A const* axis_potentials,
                                 lane_array<A, Lanes> const& factor_of_lanes)
      : factors(axis_factors),
        factor_pitch(pitch_of_factors),
        size(group.rows),
        pitch(group.pitch),
        potentials(axis_potentials),
        own_factor(factor_of_lanes) {}
  SLICESORT_HD_INLINE A factor(index_t k, int l) const {
    return factors[k * factor_pitch + (SharedFactors ? 0 : l)];
  }
  template <class Worker>
  SLICESORT_HD_INLINE A logit(Worker& worker, index_t k, int l) const {
    return worker.multiply_add(own_factor[l], factor(k, l), potentials[k * pitch + l]);
  }
};
// The same with values that the elements of T are multiplied by, in the layout of the potentials.
template <class A, int Lanes, bool SharedFactors>
struct weighted_group_axis : group_axis<A, Lanes, SharedFactors> {
  A const* values;
  lane_array<A, Lanes> const& own_potential;

  SLICESORT_HD_INLINE weighted_group_axis(group_axis<A, Lanes, SharedFactors> const& axis,
                                          A const* axis_values,
                                          lane_array<A, Lanes> const& potential)
      : group_axis<A, Lanes, SharedFactors>(axis), values(axis_values), own_potential(potential) {}

  template <class Worker>
  SLICESORT_HD_INLINE A value(Worker&, index_t k, int l) const {
    return values[k * this->pitch + l];
  }
  // Clamps elements that exceed 1 by rounding.
  template <class Worker>
  SLICESORT_HD_INLINE A element(Worker& worker, index_t k, int l) const {
    return exp_at_most_one(worker, this->logit(worker, k, l) + own_potential[l]);
  }
};

// The columns and rows of a group as axes.
template <class A, int Lanes>
SLICESORT_HD_INLINE auto columns_of(sinkhorn_group<A> const& group,
                                    lane_array<A, Lanes> const& row_factor) {
  return group_axis<A, Lanes, false>(group, group.column_factors, group.pitch,
                                     group.column_potentials, row_factor);
}
template <class A, int Lanes>
SLICESORT_HD_INLINE auto rows_of(sinkhorn_group<A> const& group,
                                 lane_array<A, Lanes> const& column_factor) {
  return group_axis<A, Lanes, true>(group, group.row_factors, 1, group.row_potentials,
                                    column_factor);
}

// Computes sum_k T[k] values[k] and sum_k T[k] values[k] factors[k] for a row (or column) of T with
// this factor and `own_potential`.
template <class Worker, class A, int Lanes, bool SharedFactors>
SLICESORT_HD_INLINE void compute_weighted_sums(Worker& worker,
                                               group_axis<A, Lanes, SharedFactors> const& axis,
                                               A const* values,
                                               lane_array<A, Lanes> const& own_potential,
                                               lane_array<A, Lanes>& sum,
                                               lane_array<A, Lanes>& weighted) {
  group_sums<A, Lanes>::sum_elements(
      worker, weighted_group_axis<A, Lanes, SharedFactors>(axis, values, own_potential), sum,
      weighted);
}

// Computes f and h, starting from h = 0: normalizes the rows, then the columns, `iterations` times.
// With SaveHistory, saves the history for backward.
template <bool SaveHistory, class Worker, class A>
SLICESORT_HD_INLINE void compute_potentials(Worker& worker, sinkhorn_group<A> const& group,
                                            index_t iterations) {
  constexpr int lanes = Worker::lanes;
  lane_array<A, lanes> factor, potential, mean;
  fill_lanes(A{0}, potential);
  for (index_t j = worker.first; j < group.rows; j += worker.stride)
    store_lanes(potential, group.column_potentials + j * group.pitch);
  worker.sync();
  for (index_t iteration = 0; iteration < iterations; ++iteration) {
    for (index_t i = worker.first; i < group.rows; i += worker.stride) {
      fill_lanes(group.row_factors[i], factor);
      group_sums<A, lanes>::normalize(worker, columns_of(group, factor), potential, mean);
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
      group_sums<A, lanes>::normalize(worker, rows_of(group, factor), potential, mean);
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
  compute_weighted_sums(worker, columns_of(group, factor), group.values, own_potential, y, unused);
}

SLICESORT_DETAIL_END
