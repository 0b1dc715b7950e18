// SPDX-License-Identifier: Apache-2.0
// Tile of sums in the registers of a warp, and operations on its rows. Rows are counted among the
// rows of a lane.
//
// Elements are distributed over the lanes like the accumulators of mma.m16n8: in a tile of 16 rows
// and 8 columns, lane 4 * g + t has the elements e = 0 .. 3 at
//
//                   column 2t   column 2t + 1
//      row g           e = 0        e = 1
//      row g + 8       e = 2        e = 3
//
// so the four lanes of a quad share a row.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

struct tile_lane {
  int group, thread_in_group;  // "groupID" and "threadID_in_group" of the PTX manual
  SLICESORT_HD explicit tile_lane(int rank) : group(rank % 32 / 4), thread_in_group(rank % 4) {}
};

// One lane's elements of Rows x Columns tiles of 16 x 8: 2 * Rows rows of 2 * Columns elements.
template <class A, int Rows, int Columns>
struct register_tile {
  static constexpr int count = Rows * Columns * 4;
  static constexpr int lane_rows = 2 * Rows, lane_columns = 2 * Columns;
  A elements[static_cast<std::size_t>(count)];

  SLICESORT_HD_INLINE A& operator[](int i) { return elements[i]; }
  SLICESORT_HD_INLINE A const& operator[](int i) const { return elements[i]; }
  // Returns element e of tile (i, j).
  SLICESORT_HD_INLINE A& operator()(int i, int j, int e) {
    return elements[(i * Columns + j) * 4 + e];
  }
  SLICESORT_HD_INLINE A const& operator()(int i, int j, int e) const {
    return elements[(i * Columns + j) * 4 + e];
  }
  // Returns an element by its row and column among the lane's elements.
  SLICESORT_HD_INLINE A& at(int row, int column) {
    return (*this)(row / 2, column / 2, row % 2 * 2 + column % 2);
  }
  SLICESORT_HD_INLINE A const& at(int row, int column) const {
    return (*this)(row / 2, column / 2, row % 2 * 2 + column % 2);
  }
  SLICESORT_HD_INLINE void clear() {
    SLICESORT_UNROLL
    for (int i = 0; i < count; ++i) elements[i] = A(0);
  }
  // Row of element i among the lane's rows; then its row and column in the warp's tiles.
  static SLICESORT_HD_INLINE constexpr int lane_row(int i) {
    return i / (4 * Columns) * 2 + i / 2 % 2;
  }
  static SLICESORT_HD_INLINE int row(int i, tile_lane lane) { return lane_row(i) * 8 + lane.group; }
  static SLICESORT_HD_INLINE int column(int i, tile_lane lane) {
    return i / 4 % Columns * 8 + 2 * lane.thread_in_group + i % 2;
  }
};

// One value per row of a lane.
template <class A, int Rows>
struct row_values {
  A values[static_cast<std::size_t>(2 * Rows)];

  SLICESORT_HD_INLINE A& operator[](int row) { return values[row]; }
  SLICESORT_HD_INLINE A const& operator[](int row) const { return values[row]; }
  SLICESORT_HD_INLINE void fill(A value) {
    SLICESORT_UNROLL
    for (int row = 0; row < 2 * Rows; ++row) values[row] = value;
  }
};

template <class A, int Rows, int Columns, class F>
SLICESORT_HD_INLINE void for_each_in_row(register_tile<A, Rows, Columns>& tile, int row,
                                         F const& f) {
  SLICESORT_UNROLL
  for (int column = 0; column < 2 * Columns; ++column) f(tile.at(row, column));
}

// Returns the maximum of `start` and a row of the tile. All lanes of the quad get the result.
template <class Block, class A, int Rows, int Columns, class Max>
SLICESORT_HD_INLINE A row_max(Block& block, register_tile<A, Rows, Columns> const& tile, int row,
                              A start, Max const& max) {
  SLICESORT_UNROLL
  for (int column = 0; column < 2 * Columns; ++column) start = max(start, tile.at(row, column));
  return block.template reduce<4>(start, max);
}

template <class A, int Rows, int Columns>
SLICESORT_HD_INLINE A lane_row_sum(register_tile<A, Rows, Columns> const& tile, int row) {
  A sum(0);
  SLICESORT_UNROLL
  for (int column = 0; column < 2 * Columns; ++column) sum += tile.at(row, column);
  return sum;
}

template <class A, int Rows, int Columns>
SLICESORT_HD_INLINE void scale_row(register_tile<A, Rows, Columns>& tile, int row, A factor) {
  SLICESORT_UNROLL
  for (int column = 0; column < 2 * Columns; ++column) tile.at(row, column) *= factor;
}

template <class A, int Rows, int Columns>
SLICESORT_HD_INLINE void scale_tile(register_tile<A, Rows, Columns>& tile, A factor) {
  SLICESORT_UNROLL
  for (int i = 0; i < tile.count; ++i) tile[i] *= factor;
}

SLICESORT_DETAIL_END
