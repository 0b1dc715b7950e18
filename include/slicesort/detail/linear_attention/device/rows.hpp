// SPDX-License-Identifier: Apache-2.0
// (Sample, head) pairs, and their queries or keys in tiles.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Threads per block. Each block computes one tile of rows, or of rows and columns.
inline constexpr int linear_threads = 128;

// Number of rows or columns in a tile. `remaining` counts them from the tile's start to the end.
SLICESORT_HD constexpr int clamp_to_tile(index_t remaining) {
  return remaining < 0 ? 0 : remaining < linear_tile ? static_cast<int>(remaining) : linear_tile;
}

// Divides a pair or head in 32 bits (check_kv_heads), since a division of 64 bits would spill
// registers.
SLICESORT_HD_INLINE index_t divide_by_group(index_t n, index_t group) {
  if (group == 1) return n;
  return static_cast<index_t>(static_cast<unsigned>(n) / static_cast<unsigned>(group));
}

// Consecutive (sample, head) pairs that the workspace holds, numbered from 0.
struct linear_pairs {
  index_t first, count, heads;
  index_t group = 1;  // consecutive heads that share a head of k; pairs are whole groups

  SLICESORT_HD index_t sample(index_t pair) const { return (first + pair) / heads; }
  SLICESORT_HD index_t head(index_t pair) const { return (first + pair) % heads; }
  // Pairs of heads of k.
  linear_pairs kv() const { return {first / group, count / group, heads / group}; }
  SLICESORT_HD index_t kv_pair(index_t pair) const { return divide_by_group(pair, group); }
  SLICESORT_HD index_t kv_head(index_t head) const { return divide_by_group(head, group); }
};

// Queries or keys of each pair.
struct linear_side {
  tensor1<index_t const> lengths;
  index_t rows;

  SLICESORT_HD index_t tiles() const { return divide_up(rows, index_t{linear_tile}); }
  SLICESORT_HD index_t valid_row_count(index_t sample) const {
    return valid_rows(lengths, sample, rows);
  }
  // Rows of a tile, including padding.
  SLICESORT_HD int rows_in_tile(index_t tile) const {
    return clamp_to_tile(rows - tile * linear_tile);
  }
  SLICESORT_HD int valid_rows_in_tile(index_t sample, index_t tile) const {
    return clamp_to_tile(valid_row_count(sample) - tile * linear_tile);
  }
};

// Position of a block: a tile of rows of a pair, and possibly a tile of columns.
struct tile_position {
  index_t pair, sample, head, tile, first_column;
  int rows;            // valid rows of the tile
  index_t row_offset;  // index of the first row in [pair][row]

  SLICESORT_HD tile_position(linear_pairs const& pairs, linear_side const& side, index_t block,
                             index_t column_tile_count)
      : pair(block / (side.tiles() * column_tile_count)),
        sample(pairs.sample(pair)),
        head(pairs.head(pair)),
        tile(block / column_tile_count % side.tiles()),
        first_column(block % column_tile_count * linear_tile),
        rows(side.valid_rows_in_tile(sample, tile)),
        row_offset(pair * side.rows + first_row()) {}
  SLICESORT_HD index_t first_row() const { return tile * linear_tile; }
};

// Base of kernels in which each block computes a tile of rows, or of rows and columns.
struct row_tiles {
  linear_pairs pairs;
  linear_side side;

  index_t blocks() const { return pairs.count * side.tiles(); }
  // Index of the tile's first row in [pair of k][row].
  SLICESORT_HD index_t kv_row_offset(tile_position const& position) const {
    return pairs.kv_pair(position.pair) * side.rows + position.first_row();
  }
  SLICESORT_HD tile_position position_of(index_t block, index_t column_tile_count = 1) const {
    return {pairs, side, block, column_tile_count};
  }
};
SLICESORT_HD constexpr index_t count_column_tiles(index_t columns) {
  return divide_up(columns, index_t{linear_tile});
}

SLICESORT_DETAIL_END
