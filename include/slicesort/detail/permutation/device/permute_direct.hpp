// SPDX-License-Identifier: Apache-2.0
// Permutes columns that do not fit in shared memory: every element goes straight to its
// destination. The second-level cache combines elements of neighboring columns into whole lines, so
// blocks that run at the same time work on the same columns.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Columns [first, first + count) of a tensor, and how blocks of `threads` threads share them.
struct column_slab {
  static constexpr int at_once = 4;  // elements that a thread has under way

  index_t first, count, length;
  int width;
  bool rows_adjacent;

  SLICESORT_HD index_t rows_of_block(int threads) const { return threads / width * at_once; }
  SLICESORT_HD index_t blocks_of_column(int threads) const {
    return divide_up(length, rows_of_block(threads));
  }
  index_t blocks(int threads) const { return divide_up(count, width) * blocks_of_column(threads); }

  // f(column of the part, first row, distance to the next) for the `at_once` rows of a thread.
  template <class Block, class F>
  SLICESORT_HD void walk(Block& block, F const& f) const {
    tile_walk const here(block.rank(), block.size(), width, rows_adjacent);
    index_t const tile = block.index() / blocks_of_column(block.size());
    index_t const part = block.index() - tile * blocks_of_column(block.size());
    index_t const column = tile * width + here.column;
    if (column < count) f(column, part * rows_of_block(block.size()) + here.first_row, here.step);
  }
};

// Copies a part of a tensor to `to`, a tensor of one sample.
template <class T>
struct copy_columns_kernel {
  static constexpr int max_threads = 256;

  tensor3<T const> from;
  tensor3<T> to;
  column_slab part;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    part.walk(block, [&](index_t column, index_t first, int step) {
      column_of<T const> const source(
          from, column_index_of(part.first + column, from.extents().channels));
      column_of<T> const target(to, {0, column});
      T value[column_slab::at_once];
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::at_once; ++k)
        if (first + k * step < part.length) value[k] = source[first + k * step];
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::at_once; ++k)
        if (first + k * step < part.length) target[first + k * step] = value[k];
    });
  }
};

// Rows: a permutation of every column (permutation_rows.hpp).
template <class T, class Rows>
struct permute_direct_kernel {
  static constexpr int max_threads = 256;

  tensor3<T const> in;  // other memory than `out`
  bool copied;          // in: the part alone, as copy_columns_kernel leaves it
  tensor3<T> out;
  Rows perm;
  bool gather = false;
  grad_mode mode = grad_mode::overwrite;
  column_slab part{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    part.walk(block, [&](index_t column, index_t first, int step) {
      column_index const at = column_index_of(part.first + column, out.extents().channels);
      column_of<T const> const from(in, copied ? column_index{0, column} : at);
      column_of<T> const to(out, at);
      auto const p = perm.open(at);
      index_t there[column_slab::at_once];
      T value[column_slab::at_once], old[column_slab::at_once] = {};
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::at_once; ++k) {
        index_t const row = first + k * step;
        if (row < part.length) {
          there[k] = p[row];
          if (!gather) value[k] = from[row];
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::at_once; ++k) {
        index_t const row = first + k * step;
        if (row < part.length) {
          if (gather) value[k] = from[there[k]];
          if (mode == grad_mode::accumulate) old[k] = to[gather ? row : there[k]];
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < column_slab::at_once; ++k) {
        index_t const row = first + k * step;
        if (row < part.length)
          to[gather ? row : there[k]] = stored_or_accumulated<Block>(mode, old[k], value[k]);
      }
    });
  }
};

SLICESORT_DETAIL_END
