// SPDX-License-Identifier: Apache-2.0
// Kernels for weighted sums of powers of a permutation, and for the transpose. Each row follows its
// own chain of rows, so chains need no synchronization with each other.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/multi_permutation/params.hpp>
#include <slicesort/detail/permutation/device/chained_columns.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Starts the thread's next chains: sets their first rows and initial sums. Chains past the valid
// rows repeat the first chain and are not stored.
template <class Column, class ThreadWork, class Row, class A>
SLICESORT_HD_INLINE void begin_chains(Column const& column, ThreadWork const& work, Row first,
                                      A weight, Row (&rows)[chains_in_flight],
                                      A (&sums)[chains_in_flight]) {
  SLICESORT_UNROLL
  for (int k = 0; k < chains_in_flight; ++k) {
    rows[k] = first + k * work.step;
    if (rows[k] >= work.valid) rows[k] = first;
    sums[k] = weight * static_cast<A>(column.value(rows[k]));
  }
}

// Computes y = sum_k a_k P^(k-1) v for the sorted columns v and weights a, in ascending order of k.
// Copies rows past a length.
template <class T, bool InShared>
struct sum_powers_kernel {
  static constexpr int max_threads = 512;
  using A = accumulator_t<T>;

  chained_columns<T, InShared> sorted;
  component_weights<A> weights;
  tensor3<T> y;  // may alias the sorted columns if InShared

  template <class SharedAllocator>
  SLICESORT_HD auto shared(SharedAllocator& allocator) const {
    return sorted.shared(allocator);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using row_index = typename chained_columns<T, InShared>::row;
    auto const tile = shared(block);
    auto const work = sorted.thread_work_of(block);
    auto const column = sorted.load_column(block, tile, work);
    if (!work.inside) return;
    column_of<T> const output(y, work.column);

    A const first_weight = weights(1);
    for (row_index first = work.first; first < work.valid; first += chains_in_flight * work.step) {
      row_index rows[chains_in_flight];
      A sums[chains_in_flight];
      begin_chains(column, work, first, first_weight, rows, sums);
      for (index_t power = 2; power <= weights.components; ++power) {
        A const weight = weights(power);
        SLICESORT_UNROLL
        for (int k = 0; k < chains_in_flight; ++k) {
          rows[k] = column.next(rows[k]);
          sums[k] = block.multiply_add(weight, static_cast<A>(column.value(rows[k])), sums[k]);
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < chains_in_flight; ++k)
        if (first + k * work.step < work.valid) output[first + k * work.step] = rounded<T>(sums[k]);
    }
    for (row_index n = work.first; n < work.length; n += work.step)
      if (n >= work.valid) output[n] = column.value(n);
  }
};

// Computes dx = sum_k a_k (P^k)^T d by Horner's rule, (P^T)(a_1 d + (P^T)(a_2 d + ...)). A partial
// sum starts at row m with a_K d[m] and moves from row n to row p[n] in each step.
template <class T, bool InShared>
struct transpose_powers_kernel {
  static constexpr int max_threads = 512;
  using A = accumulator_t<T>;

  chained_columns<T, InShared> gradient;  // may alias dx if InShared
  component_weights<A> weights;
  tensor3<T> dx;
  grad_mode mode;

  struct shared_buffers {
    typename chained_columns<T, InShared>::tile tile;
    A* staged_sums;  // avoids scattered stores to dx
  };
  template <class SharedAllocator>
  SLICESORT_HD shared_buffers shared(SharedAllocator& allocator) const {
    shared_buffers buffers{gradient.shared(allocator), nullptr};
    if constexpr (InShared)
      buffers.staged_sums = allocator.template allocate<A>(
          static_cast<std::size_t>(dx.extents().length) * static_cast<std::size_t>(gradient.width));
    return buffers;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using row_index = typename chained_columns<T, InShared>::row;
    shared_buffers const buffers = shared(block);
    auto const work = gradient.thread_work_of(block);
    auto const column = gradient.load_column(block, buffers.tile, work);
    column_of<T> const output(dx, work.column);
    A* staged_sums = nullptr;
    if constexpr (InShared)
      staged_sums = buffers.staged_sums + (column.values - buffers.tile.values);

    A const last_weight = weights(weights.components);
    for (row_index first = work.first; first < work.valid; first += chains_in_flight * work.step) {
      row_index rows[chains_in_flight];
      A sums[chains_in_flight];
      begin_chains(column, work, first, last_weight, rows, sums);
      SLICESORT_UNROLL
      for (int k = 0; k < chains_in_flight; ++k) rows[k] = column.next(rows[k]);
      for (index_t power = weights.components - 1; power >= 1; --power) {
        A const weight = weights(power);
        SLICESORT_UNROLL
        for (int k = 0; k < chains_in_flight; ++k) {
          sums[k] = block.multiply_add(weight, static_cast<A>(column.value(rows[k])), sums[k]);
          rows[k] = column.next(rows[k]);
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < chains_in_flight; ++k) {
        if (first + k * work.step >= work.valid) continue;
        if constexpr (InShared)
          staged_sums[rows[k] * column.pitch] = sums[k];
        else
          store_or_accumulate_sum(mode, output[rows[k]], sums[k]);
      }
    }
    if constexpr (InShared) {
      block.sync();
      for (row_index first = work.first; first < work.valid;
           first += chains_in_flight * work.step) {
        T previous[chains_in_flight] = {};
        SLICESORT_UNROLL
        for (int k = 0; k < chains_in_flight; ++k)
          if (mode == grad_mode::accumulate && first + k * work.step < work.valid)
            previous[k] = output[first + k * work.step];
        SLICESORT_UNROLL
        for (int k = 0; k < chains_in_flight; ++k)
          if (row_index const n = first + k * work.step; n < work.valid)
            output[n] = stored_or_accumulated_sum(mode, previous[k], staged_sums[n * column.pitch]);
      }
    }
    for (row_index n = work.first; n < work.length; n += work.step)
      if (n >= work.valid) store_or_accumulate<Block>(mode, output[n], column.value(n));
  }
};

SLICESORT_DETAIL_END
