// SPDX-License-Identifier: Apache-2.0
// Tile of columns to sort, and its SIMD sorter for every instruction set. The set is chosen at run
// time, so a binary built for the baseline processor is fast on newer ones.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

inline constexpr int group_tile_rows = 256;

template <class T>
struct column_tile {
  T const* x;
  T* y;        // null if not stored
  void* perm;  // null if not saved
  index_width perm_width;
  tile_operand x_layout, y_layout, perm_layout;
  int width;                                // columns in use
  index_t rows;                             // rows to sort: the longest column
  index_t valid[tile_columns];              // valid rows of each column
  bool ragged;                              // true if some column is shorter than `rows`
  bits_t<T> descending_mask[tile_columns];  // all ones where the column descends
  bool stream;                              // store y with streaming stores
  bool stream_perm;                         // store perm with streaming stores
  // Leading sorted rows that are stored; by default, all.
  index_t stored_rows = std::numeric_limits<index_t>::max();
  index_t group;  // rows that are sorted together; perm counts them from 0
  // Destination of each sorted row within its group; null: row k goes to row k.
  std::uint16_t const* destinations;
  unsigned char* scratch;  // tile_scratch_bytes<T>(rows)
};

// Copies row `source` of column c to row `row` of the outputs.
template <class T>
void copy_tile_row(column_tile<T> const& tile, int c, index_t row, index_t source) {
  if (tile.y != nullptr)
    tile.y[tile.y_layout.start[c] + row * tile.y_layout.pitch] =
        tile.x[tile.x_layout.start[c] + source * tile.x_layout.pitch];
  if (tile.perm == nullptr) return;
  index_t const offset = tile.perm_layout.start[c] + row * tile.perm_layout.pitch;
  if (tile.perm_width == index_width::bits16)
    static_cast<std::uint16_t*>(tile.perm)[offset] = static_cast<std::uint16_t>(source);
  else
    static_cast<std::uint32_t*>(tile.perm)[offset] = static_cast<std::uint32_t>(source);
}

// Distance between the panels of a tile (see tile_sorter.inl), in rows of scratch. A gap follows
// every 256 or more rows, so that panels and rows of power-of-two lengths do not map to the same
// cache sets.
constexpr std::size_t tile_pitch(std::size_t rows) { return rows + rows / 256 + 4; }

// Scratch bytes per row of a tile, as the maximum over instruction sets: keys and indices of 32
// columns, and the composites of one panel to order ties.
template <class T>
inline constexpr std::size_t tile_row_bytes = sizeof(T) == 2 ? 4 * tile_columns
                                                             : 2 * sizeof(T) * tile_columns +
                                                                   (sizeof(T) == 4 ? 32 : 64);

template <class T>
constexpr std::size_t tile_scratch_bytes(index_t rows) {
  return tile_row_bytes<T> * tile_pitch(static_cast<std::size_t>(rows));
}

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/sort/host/tile_sorter.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

// Sorter of one tile, or of two adjacent tiles, whose rows fit 16-bit indices. `with_indices`: the
// permutation is saved.
template <class T>
using tile_sort = void (*)(column_tile<T> const* tiles, int count);
template <class T>
tile_sort<T> tile_sort_of(isa set, bool with_indices) {
  tile_sort<T> sort_tiles = nullptr;
  with_isa(set, [&](auto target) { choose_tile_sort(target, with_indices, sort_tiles); });
  return sort_tiles;
}

SLICESORT_DETAIL_END
