// SPDX-License-Identifier: Apache-2.0
// Permutes columns tile by tile. A tile stays in cache while it is permuted, and is loaded and
// stored row by row.
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

// Consecutive rows of 32 elements, either in a tensor or copied to a stage.
template <class Element>
struct row_sequence {
  Element const* data;
  index_t pitch;

  Element const* operator[](int k) const { return data + k * pitch; }
};

// Returns `count` rows of the input. Copies them to the stage unless they can be read in place.
template <class T>
row_sequence<T> load_input_rows(permuted_tile<T> const& tile, index_t first_row, int count,
                                T* stage, bool in_place = true) {
  if (tile.x_layout.dense && in_place)
    return {tile.x + tile.x_layout.start[0] + first_row * tile.x_layout.pitch, tile.x_layout.pitch};
  gather_rows(tile.x, tile.x_layout, 0, tile.width, first_row, count, stage, tile_columns);
  return {stage, tile_columns};
}
// Returns `count` rows of the permutation. Unused lanes of the stage must hold valid rows, such as
// the zeros of a new stage.
template <class Index, class T>
row_sequence<Index> load_permutation_rows(permuted_tile<T> const& tile, index_t first_row,
                                          int count, Index* stage, bool in_place = true) {
  auto const* const perm = static_cast<Index const*>(tile.perm);
  if (tile.perm_layout.dense && !tile.ragged && in_place)
    return {perm + tile.perm_layout.start[0] + first_row * tile.perm_layout.pitch,
            tile.perm_layout.pitch};
  gather_rows(perm, tile.perm_layout, 0, tile.width, first_row, count, stage, tile_columns);
  for (int lane = 0; lane < tile.width; ++lane)
    for (int k = 0; k < count; ++k)
      if (first_row + k >= tile.valid[lane])
        stage[k * tile_columns + lane] = static_cast<Index>(first_row + k);
  return {stage, tile_columns};
}

// Scatters a row of columns to the rows in `perm`. All lanes are stored, at constant offsets;
// unused lanes store garbage that is never read.
template <class T, class Index, std::size_t... Lane>
SLICESORT_INLINE void scatter_row(T const* x, Index const* perm, T* tile,
                                  std::index_sequence<Lane...>) {
  ((tile[static_cast<std::size_t>(perm[Lane]) * sizeof...(Lane) + Lane] = x[Lane]), ...);
}
template <class T, class Index, std::size_t... Lane>
SLICESORT_INLINE void gather_row(T const* tile, Index const* perm, T* y,
                                 std::index_sequence<Lane...>) {
  ((y[Lane] = tile[static_cast<std::size_t>(perm[Lane]) * tile_columns + Lane]), ...);
}

// Prefetches each row to copy twice, because copying takes so little time: far ahead, and then into
// the L1 cache.
template <class T>
void prefetch_copied_rows(permuted_tile<T> const& tile, index_t first_row, int count) {
  constexpr unsigned early_distance = 64;
  index_t const pitch = tile.x_layout.pitch;
  T const* row = tile.x + tile.x_layout.start[0] + first_row * pitch;
  for (int k = 0; k < count; ++k, row += pitch) {
    if (first_row + k + static_cast<index_t>(early_distance) < tile.rows)
      prefetch_after<early_distance, 2>(row, pitch);
    prefetch_after(row, pitch);
  }
}

// Loads the tile with its rows in the order of y, or with Gather in the order of x.
template <bool Gather, class Index, class T>
void load_tile(permuted_tile<T> const& tile) {
  constexpr int rows_per_batch = 8;
  T values[std::size_t{rows_per_batch} * tile_columns];
  Index indices[std::size_t{rows_per_batch} * tile_columns] = {};
  for (index_t first_row = 0; first_row < tile.rows; first_row += rows_per_batch) {
    int const count = tile.rows - first_row < rows_per_batch
                          ? static_cast<int>(tile.rows - first_row)
                          : rows_per_batch;
    if (Gather) {
      if (tile.x_layout.dense) prefetch_copied_rows(tile, first_row, count);
      gather_rows(tile.x, tile.x_layout, 0, tile.width, first_row, count,
                  tile.scratch + first_row * tile_columns, tile_columns);
      continue;
    }
    row_sequence<T> const x = load_input_rows(tile, first_row, count, values);
    row_sequence<Index> const perm = load_permutation_rows(tile, first_row, count, indices);
    for (int k = 0; k < count; ++k) {
      if (tile.x_layout.dense) prefetch_after(x[k], x.pitch);
      if (tile.perm_layout.dense) prefetch_after(perm[k], perm.pitch);
      scatter_row(x[k], perm[k], tile.scratch, std::make_index_sequence<tile_columns>{});
    }
  }
}

// Half a tile of 32-bit elements: one cache line of every row, instead of two.
inline constexpr int half_columns = tile_columns / 2;

// True if the tile is scattered half by half: one half stays in the L1 cache, two do not.
template <class T>
bool scatters_halves(permuted_tile<T> const& tile) {
  return sizeof(T) == 4 && tile.rows >= 128 && tile.rows <= 1024 && tile.x_layout.dense &&
         tile.perm_layout.dense && tile.y_layout.dense && !tile.ragged &&
         tile.mode == grad_mode::overwrite;
}
// Scatters the halves of a tile; scratch memory holds [2][rows][half_columns].
template <class Index, class T>
void scatter_halves(permuted_tile<T> const& tile) {
  for (int half = 0; half < 2; ++half) {
    T const* x = tile.x + tile.x_layout.start[half * half_columns];
    Index const* perm =
        static_cast<Index const*>(tile.perm) + tile.perm_layout.start[half * half_columns];
    for (index_t row = 0; row < tile.rows;
         ++row, x += tile.x_layout.pitch, perm += tile.perm_layout.pitch) {
      prefetch_after<prefetch_distance, 3, half_columns>(x, tile.x_layout.pitch);
      prefetch_after<prefetch_distance, 3, half_columns>(perm, tile.perm_layout.pitch);
      scatter_row(x, perm, tile.scratch + half * half_columns * tile.rows,
                  std::make_index_sequence<half_columns>{});
    }
  }
}
// Stores rows of tiles that scatter_halves scattered.
template <bool Stream, class T>
void store_halves(permuted_tile<T> const* tiles, int count) {
  for (index_t row = 0; row < tiles->rows; ++row)
    for (permuted_tile<T> const* tile = tiles; tile != tiles + count; ++tile) {
      T const* const from = tile->scratch + row * half_columns;
      T* const to = tile->y + tile->y_layout.start[0] + row * tile->y_layout.pitch;
      copy_row<Stream, half_columns>(from, to);
      copy_row<Stream, half_columns>(from + half_columns * tile->rows, to + half_columns);
    }
  portable::finish_streaming<Stream>();
}
template <class Index, class T>
void permute_halves(permuted_tile<T> const* tiles, int count) {
  bool stream = true;
  for (permuted_tile<T> const* tile = tiles; tile != tiles + count; ++tile) {
    scatter_halves<Index>(*tile);
    stream &= tile->stream;
  }
  stream ? store_halves<true>(tiles, count) : store_halves<false>(tiles, count);
}

template <bool Gather, bool Stream, class Index, class T>
void store_tile_rows(permuted_tile<T> const& tile, index_t first_row, Index* indices) {
  int const count = static_cast<int>(std::min<index_t>(tile.rows - first_row, store_batch_rows));
  if (!Gather)
    return store_rows<Stream>(tile.scratch + first_row * tile_columns, first_row, count,
                              tile.y_layout, tile.width, tile.mode, tile.y);
  T rows[std::size_t{store_batch_rows} * tile_columns];
  row_sequence<Index> const perm = load_permutation_rows(tile, first_row, count, indices);
  for (int k = 0; k < count; ++k) {
    if (tile.perm_layout.dense) prefetch_after(perm[k], perm.pitch);
    gather_row(tile.scratch, perm[k], rows + k * tile_columns,
               std::make_index_sequence<tile_columns>{});
  }
  store_rows<Stream>(rows, first_row, count, tile.y_layout, tile.width, tile.mode, tile.y);
}

// Stores tiles with the same number of rows alternately, because two adjacent cache lines cost the
// same as one.
template <bool Gather, bool Stream, class Index, class T>
void store_permuted_tiles(permuted_tile<T> const* tiles, int count) {
  Index indices[std::size_t{store_batch_rows} * tile_columns] = {};
  for (index_t first_row = 0; first_row < tiles->rows; first_row += store_batch_rows)
    for (permuted_tile<T> const* tile = tiles; tile != tiles + count; ++tile)
      store_tile_rows<Gather, Stream>(*tile, first_row, indices);
  portable::finish_streaming<Stream>();
}

template <bool Gather, class Index, class T>
void permute_typed_tiles(permuted_tile<T> const* tiles, int count) {
  if (!Gather && scatters_halves(tiles[0]) && scatters_halves(tiles[count - 1]))
    return permute_halves<Index>(tiles, count);
  bool stream = true;
  for (permuted_tile<T> const* tile = tiles; tile != tiles + count; ++tile) {
    load_tile<Gather, Index>(*tile);
    stream &= tile->stream;
  }
  if (stream)
    store_permuted_tiles<Gather, true, Index>(tiles, count);
  else
    store_permuted_tiles<Gather, false, Index>(tiles, count);
}

template <class T>
void permute_tiles(permuted_tile<T> const* tiles, int count) {
  bool const is_16_bit = tiles->perm_width == index_width::bits16;
  if (tiles->gather)
    is_16_bit ? permute_typed_tiles<true, std::uint16_t>(tiles, count)
              : permute_typed_tiles<true, std::uint32_t>(tiles, count);
  else
    is_16_bit ? permute_typed_tiles<false, std::uint16_t>(tiles, count)
              : permute_typed_tiles<false, std::uint32_t>(tiles, count);
}

SLICESORT_DETAIL_END
