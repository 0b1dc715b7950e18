// SPDX-License-Identifier: Apache-2.0
// Permutes columns tile by tile. A tile stays in cache while it is permuted, and is read and
// written row by row. Every element is moved once.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Tile to permute: y[perm[n]] = x[n], or with `gather` y[n] = x[perm[n]].
template <class T>
struct permuted_tile {
  T const* x;
  T* y;
  void const* perm;
  index_width perm_width;
  tile_operand x_layout, y_layout, perm_layout;
  int width;
  index_t rows;                 // rows of the tensor
  index_t valid[tile_columns];  // later rows are copied unchanged and ignore perm
  bool ragged;                  // true if some valid[c] < rows
  bool gather;
  grad_mode mode;
  bool stream;  // true for streaming stores
  T* scratch;   // [rows][tile_columns]
};

// Rows of 32 elements, either in a tensor or copied to a stage.
template <class Element>
struct whole_rows {
  Element const* data;
  index_t pitch;

  Element const* operator[](int k) const { return data + k * pitch; }
};

template <class T>
whole_rows<T> input_rows(permuted_tile<T> const& tile, index_t i, int count, T* stage) {
  if (tile.x_layout.dense)
    return {tile.x + tile.x_layout.start[0] + i * tile.x_layout.pitch, tile.x_layout.pitch};
  gather_rows(tile.x, tile.x_layout, 0, tile.width, i, count, stage, tile_columns);
  return {stage, tile_columns};
}
// Returns `count` rows of the permutation from row i on. Unused lanes of the stage must hold valid
// rows, such as the zeros of a new stage.
template <class Index, class T>
whole_rows<Index> permutation_rows_of(permuted_tile<T> const& tile, index_t i, int count,
                                      Index* stage) {
  auto const* const perm = static_cast<Index const*>(tile.perm);
  if (tile.perm_layout.dense && !tile.ragged)
    return {perm + tile.perm_layout.start[0] + i * tile.perm_layout.pitch, tile.perm_layout.pitch};
  gather_rows(perm, tile.perm_layout, 0, tile.width, i, count, stage, tile_columns);
  for (int lane = 0; lane < tile.width; ++lane)
    for (int k = 0; k < count; ++k)
      if (i + k >= tile.valid[lane]) stage[k * tile_columns + lane] = static_cast<Index>(i + k);
  return {stage, tile_columns};
}

// Scatters one row of the input to the rows in `perm`. All lanes are moved with constant offsets;
// unused lanes move garbage that is never read.
template <class T, class Index, std::size_t... Lane>
SLICESORT_INLINE void scatter_row(T const* x, Index const* perm, T* tile,
                                  std::index_sequence<Lane...>) {
  ((tile[static_cast<std::size_t>(perm[Lane]) * tile_columns + Lane] = x[Lane]), ...);
}
template <class T, class Index, std::size_t... Lane>
SLICESORT_INLINE void gather_row(T const* tile, Index const* perm, T* y,
                                 std::index_sequence<Lane...>) {
  ((y[Lane] = tile[static_cast<std::size_t>(perm[Lane]) * tile_columns + Lane]), ...);
}

// Prefetches rows to copy twice, since copying takes so little time: far ahead, and then into the
// L1 cache.
template <class T>
void prefetch_copied_rows(permuted_tile<T> const& tile, index_t i, int count) {
  constexpr unsigned early_distance = 64;
  index_t const pitch = tile.x_layout.pitch;
  T const* row = tile.x + tile.x_layout.start[0] + i * pitch;
  for (int k = 0; k < count; ++k, row += pitch) {
    if (i + k + static_cast<index_t>(early_distance) < tile.rows)
      prefetch_after<early_distance, 2>(row, pitch);
    prefetch_after(row, pitch);
  }
}

// Loads the tile in the row order of y, or with Gather in the row order of x.
template <bool Gather, class Index, class T>
void load_tile(permuted_tile<T> const& tile) {
  constexpr int batch = 8;
  T values[std::size_t{batch} * tile_columns];
  Index indices[std::size_t{batch} * tile_columns] = {};
  for (index_t i = 0; i < tile.rows; i += batch) {
    int const count = tile.rows - i < batch ? static_cast<int>(tile.rows - i) : batch;
    if (Gather) {
      if (tile.x_layout.dense) prefetch_copied_rows(tile, i, count);
      gather_rows(tile.x, tile.x_layout, 0, tile.width, i, count, tile.scratch + i * tile_columns,
                  tile_columns);
      continue;
    }
    whole_rows<T> const x = input_rows(tile, i, count, values);
    whole_rows<Index> const perm = permutation_rows_of(tile, i, count, indices);
    for (int k = 0; k < count; ++k) {
      if (tile.x_layout.dense) prefetch_after(x[k], x.pitch);
      if (tile.perm_layout.dense) prefetch_after(perm[k], perm.pitch);
      scatter_row(x[k], perm[k], tile.scratch, std::make_index_sequence<tile_columns>{});
    }
  }
}

template <bool Gather, bool Stream, class Index, class T>
void store_tile_rows(permuted_tile<T> const& tile, index_t i, Index* indices) {
  int const count = static_cast<int>(std::min<index_t>(tile.rows - i, store_batch_rows));
  if (!Gather)
    return store_rows<Stream>(tile.scratch + i * tile_columns, i, count, tile.y_layout, tile.width,
                              tile.mode, tile.y);
  T rows[std::size_t{store_batch_rows} * tile_columns];
  whole_rows<Index> const perm = permutation_rows_of(tile, i, count, indices);
  for (int k = 0; k < count; ++k) {
    if (tile.perm_layout.dense) prefetch_after(perm[k], perm.pitch);
    gather_row(tile.scratch, perm[k], rows + k * tile_columns,
               std::make_index_sequence<tile_columns>{});
  }
  store_rows<Stream>(rows, i, count, tile.y_layout, tile.width, tile.mode, tile.y);
}

// Stores tiles of equally many rows interleaved: two adjacent lines cost the same as one.
template <bool Gather, bool Stream, class Index, class T>
void write_tiles(permuted_tile<T> const* tiles, int count) {
  Index indices[std::size_t{store_batch_rows} * tile_columns] = {};
  for (index_t i = 0; i < tiles->rows; i += store_batch_rows)
    for (permuted_tile<T> const* tile = tiles; tile != tiles + count; ++tile)
      store_tile_rows<Gather, Stream>(*tile, i, indices);
  portable::finish_streaming<Stream>();
}

template <bool Gather, class Index, class T>
void move_tiles(permuted_tile<T> const* tiles, int count) {
  bool stream = true;
  for (permuted_tile<T> const* tile = tiles; tile != tiles + count; ++tile) {
    load_tile<Gather, Index>(*tile);
    stream &= tile->stream;
  }
  if (stream)
    write_tiles<Gather, true, Index>(tiles, count);
  else
    write_tiles<Gather, false, Index>(tiles, count);
}

template <class T>
void permute_tiles(permuted_tile<T> const* tiles, int count) {
  bool const narrow = tiles->perm_width == index_width::bits16;
  if (tiles->gather)
    narrow ? move_tiles<true, std::uint16_t>(tiles, count)
           : move_tiles<true, std::uint32_t>(tiles, count);
  else
    narrow ? move_tiles<false, std::uint16_t>(tiles, count)
           : move_tiles<false, std::uint32_t>(tiles, count);
}

SLICESORT_DETAIL_END
