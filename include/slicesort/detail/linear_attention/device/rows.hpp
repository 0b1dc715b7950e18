// SPDX-License-Identifier: Apache-2.0
// What the kernels of linear_attention see of a call: pairs of a sample and a head, and the queries
// or the keys of each in tiles.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

inline constexpr int linear_tile = linear_attention_tile;
// A block takes one tile of rows, or of rows and columns.
inline constexpr int linear_threads = 128;

// How many of a tile's rows, or columns, are there if so many are left.
SLICESORT_HD constexpr int within_tile(index_t left) {
  return left < 0 ? 0 : left < linear_tile ? static_cast<int>(left) : linear_tile;
}

// The pairs that the workspace holds at once, numbered from 0.
struct linear_pairs {
  index_t first, count, heads;

  SLICESORT_HD index_t sample(index_t pair) const { return (first + pair) / heads; }
  SLICESORT_HD index_t head(index_t pair) const { return (first + pair) % heads; }
};

// The queries, or the keys, of every pair.
struct linear_side {
  tensor1<index_t const> lengths;
  index_t rows;

  SLICESORT_HD index_t tiles() const { return divide_up(rows, index_t{linear_tile}); }
  SLICESORT_HD index_t valid(index_t sample) const { return valid_rows(lengths, sample, rows); }
  // Rows of a tile, all of them and the valid ones.
  SLICESORT_HD int rows_of_tile(index_t tile) const {
    return within_tile(rows - tile * linear_tile);
  }
  SLICESORT_HD int valid_of_tile(index_t sample, index_t tile) const {
    return within_tile(valid(sample) - tile * linear_tile);
  }
};

// A tile of rows of a pair, and, where a block does not take whole rows, a tile of their columns.
struct linear_block {
  index_t pair, sample, head, tile, column;  // the first column

  SLICESORT_HD linear_block(linear_pairs const& pairs, index_t block, index_t tiles,
                            index_t column_tiles)
      : pair(block / (tiles * column_tiles)),
        sample(pairs.sample(pair)),
        head(pairs.head(pair)),
        tile(block / column_tiles % tiles),
        column(block % column_tiles * linear_tile) {}
  SLICESORT_HD index_t row() const { return tile * linear_tile; }  // the first row
};
SLICESORT_HD constexpr index_t tiles_of_columns(index_t columns) {
  return divide_up(columns, index_t{linear_tile});
}

SLICESORT_DETAIL_END
