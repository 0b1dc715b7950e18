// SPDX-License-Identifier: Apache-2.0
// The transpose of a permutation, tile by tile: rows of dy are scattered inside a tile that stays
// in cache, then the tile is written row by row. Every element is moved once; nothing is added up.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/store_rows.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class T>
struct permuted_tile {
  T const* dy;
  T* dx;
  void const* perm;
  index_width perm_width;
  tile_operand dy_at, dx_at, perm_at;
  int width;
  index_t rows;                 // of the tensor
  index_t valid[tile_columns];  // rows past these stay where they are
  bool ragged;                  // some valid[c] < rows
  grad_mode mode;
  bool stream;  // write around the cache
  T* scratch;   // rows * tile_columns
};

// Scatters one row of dy to the rows that `perm` names. All lanes are moved, with constant offsets;
// unused ones move garbage between lanes that nobody reads.
template <class T, class Index, std::size_t... Lane>
SLICESORT_INLINE void scatter_row(T const* dy, Index const* perm, T* tile,
                                  std::index_sequence<Lane...>) {
  ((tile[static_cast<std::size_t>(perm[Lane]) * tile_columns + Lane] = dy[Lane]), ...);
}

template <class T, class Index>
void transpose_permutation(permuted_tile<T> const& t) {
  constexpr int batch = 8;
  auto const* const perm = static_cast<Index const*>(t.perm);
  T values[std::size_t{batch} * tile_columns];
  Index indices[std::size_t{batch} * tile_columns] = {};
  for (index_t i = 0; i < t.rows; i += batch) {
    int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
    T const* dy = values;
    Index const* p = indices;
    index_t dy_pitch = tile_columns, p_pitch = tile_columns;
    if (t.dy_at.dense) {
      dy = t.dy + t.dy_at.start[0] + i * t.dy_at.pitch;
      dy_pitch = t.dy_at.pitch;
    } else {
      gather_rows(t.dy, t.dy_at, 0, t.width, i, count, values, tile_columns);
    }
    if (t.perm_at.dense && !t.ragged) {
      p = perm + t.perm_at.start[0] + i * t.perm_at.pitch;
      p_pitch = t.perm_at.pitch;
    } else {
      gather_rows(perm, t.perm_at, 0, t.width, i, count, indices, tile_columns);
      for (int lane = 0; lane < t.width; ++lane)
        for (int k = 0; k < count; ++k)
          if (i + k >= t.valid[lane]) indices[k * tile_columns + lane] = static_cast<Index>(i + k);
    }
    for (int k = 0; k < count; ++k) {
      if (t.dy_at.dense) prefetch_after(dy + k * dy_pitch, dy_pitch);
      if (t.perm_at.dense) prefetch_after(p + k * p_pitch, p_pitch);
      scatter_row(dy + k * dy_pitch, p + k * p_pitch, t.scratch,
                  std::make_index_sequence<tile_columns>{});
    }
  }
}

// Writes tiles of as many rows in turns: two lines side by side cost what one does.
template <bool Stream, class T>
void write_tiles(permuted_tile<T> const* tiles, int count) {
  index_t const rows = tiles->rows;
  for (index_t i = 0; i < rows; i += store_batch_rows)
    for (permuted_tile<T> const* t = tiles; t != tiles + count; ++t)
      store_rows<Stream>(t->scratch + i * tile_columns, i,
                         static_cast<int>(std::min<index_t>(rows - i, store_batch_rows)), t->dx_at,
                         t->width, t->mode, t->dx);
  portable::finish_streaming<Stream>();
}

// One tile, or two that lie side by side.
template <class T>
void permute_tiles(permuted_tile<T> const* tiles, int count) {
  bool stream = true;
  for (permuted_tile<T> const* t = tiles; t != tiles + count; ++t) {
    if (t->perm_width == index_width::bits16)
      transpose_permutation<T, std::uint16_t>(*t);
    else
      transpose_permutation<T, std::uint32_t>(*t);
    stream &= t->stream;
  }
  if (stream)
    write_tiles<true>(tiles, count);
  else
    write_tiles<false>(tiles, count);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
