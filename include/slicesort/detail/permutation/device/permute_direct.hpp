// SPDX-License-Identifier: Apache-2.0
// Permutes columns that do not fit in shared memory: every element is stored directly to its
// destination. The L2 cache combines elements of neighboring columns into whole lines, so
// concurrent blocks process the same columns.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Columns [first, first + count) of a tensor, and their division among the threads of blocks.
struct column_slab {
  static constexpr int in_flight = 4;  // elements that a thread has in flight

  index_t first, count, length;
  int width;
  bool rows_adjacent;

  SLICESORT_HD index_t rows_per_block(int threads) const { return threads / width * in_flight; }
  SLICESORT_HD index_t blocks_per_column(int threads) const {
    return divide_up(length, rows_per_block(threads));
  }
  index_t blocks(int threads) const { return divide_up(count, width) * blocks_per_column(threads); }

  // Calls f(column, first, step) for a thread: its rows are first + k * step of column `column` of
  // the slab, for k < in_flight.
  template <class Block, class F>
  SLICESORT_HD void with_thread_rows(Block& block, F const& f) const {
    thread_mapping const walk(block.rank(), block.size(), width, rows_adjacent);
    index_t const tile = block.index() / blocks_per_column(block.size());
    index_t const block_of_column = block.index() - tile * blocks_per_column(block.size());
    index_t const column = tile * width + walk.column;
    if (column < count)
      f(column, block_of_column * rows_per_block(block.size()) + walk.first_row, walk.step);
  }
};

// Copies a slab of `from` to `to`, whose only sample has the columns of the slab.
template <class T>
struct copy_columns_kernel {
  static constexpr int max_threads = 256;

  tensor3<T const> from;
  tensor3<T> to;
  column_slab slab;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    slab.with_thread_rows(block, [&](index_t column, index_t first, int step) {
      column_of<T const> const source(
          from, column_index_of(slab.first + column, from.extents().channels));
      column_of<T> const target(to, {0, column});
      T value[column_slab::in_flight];
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::in_flight; ++k)
        if (first + k * step < slab.length) value[k] = source[first + k * step];
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::in_flight; ++k)
        if (first + k * step < slab.length) target[first + k * step] = value[k];
    });
  }
};

template <class T, class Rows>
struct permute_direct_kernel {
  static constexpr int max_threads = 256;

  tensor3<T const> x;  // must not overlap y
  bool x_is_copy;      // true if x is a copy of the slab (by copy_columns_kernel)
  tensor3<T> y;
  Rows perm;
  bool gather = false;
  grad_mode mode = grad_mode::overwrite;
  column_slab slab{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    slab.with_thread_rows(block, [&](index_t column, index_t first, int step) {
      column_index const position = column_index_of(slab.first + column, y.extents().channels);
      column_of<T const> const from(x, x_is_copy ? column_index{0, column} : position);
      column_of<T> const to(y, position);
      auto const perm_column = perm.column_at(position);
      index_t index[column_slab::in_flight];
      T value[column_slab::in_flight], old[column_slab::in_flight] = {};
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::in_flight; ++k) {
        index_t const row = first + k * step;
        if (row < slab.length) {
          index[k] = perm_column[row];
          if (!gather) value[k] = from[row];
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::in_flight; ++k) {
        index_t const row = first + k * step;
        if (row < slab.length) {
          if (gather) value[k] = from[index[k]];
          if (mode == grad_mode::accumulate) old[k] = to[gather ? row : index[k]];
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::in_flight; ++k) {
        index_t const row = first + k * step;
        if (row < slab.length)
          to[gather ? row : index[k]] = stored_or_accumulated<Block>(mode, old[k], value[k]);
      }
    });
  }
};

SLICESORT_DETAIL_END
