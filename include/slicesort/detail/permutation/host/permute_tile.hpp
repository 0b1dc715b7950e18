// SPDX-License-Identifier: Apache-2.0
// A permutation of columns or its transpose, tile by tile. Rows change places only inside a tile
// that stays in cache; it is read and written row by row. Every element is moved once; nothing is
// added up but into `out`.
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

// out[perm[n]] = in[n], or with `gather` out[n] = in[perm[n]].
template <class T>
struct permuted_tile {
  T const* in;
  T* out;
  void const* perm;
  index_width perm_width;
  tile_operand in_at, out_at, perm_layout;
  int width;
  index_t rows;                 // of the tensor
  index_t valid[tile_columns];  // rows past these stay where they are, whatever perm says
  bool ragged;                  // some valid[c] < rows
  bool gather;
  grad_mode mode;
  bool stream;  // write around the cache
  T* scratch;   // rows * tile_columns
};

// Some rows of a tile with 32 elements each: where they lie, or copied to a stage.
template <class Element>
struct whole_rows {
  Element const* data;
  index_t pitch;

  Element const* operator[](int k) const { return data + k * pitch; }
};

// Rows i .. of the input. The stage has room for `count` rows.
template <class T>
whole_rows<T> input_rows(permuted_tile<T> const& t, index_t i, int count, T* stage) {
  if (t.in_at.dense) return {t.in + t.in_at.start[0] + i * t.in_at.pitch, t.in_at.pitch};
  gather_rows(t.in, t.in_at, 0, t.width, i, count, stage, tile_columns);
  return {stage, tile_columns};
}
// Rows i .. of the permutation. A stage that has never been written to holds zeros, which unused
// lanes keep.
template <class Index, class T>
whole_rows<Index> permutation_rows_of(permuted_tile<T> const& t, index_t i, int count,
                                      Index* stage) {
  auto const* const perm = static_cast<Index const*>(t.perm);
  if (t.perm_layout.dense && !t.ragged)
    return {perm + t.perm_layout.start[0] + i * t.perm_layout.pitch, t.perm_layout.pitch};
  gather_rows(perm, t.perm_layout, 0, t.width, i, count, stage, tile_columns);
  for (int lane = 0; lane < t.width; ++lane)
    for (int k = 0; k < count; ++k)
      if (i + k >= t.valid[lane]) stage[k * tile_columns + lane] = static_cast<Index>(i + k);
  return {stage, tile_columns};
}

// Scatters one row of the input to the rows that `perm` names. All lanes are moved, with constant
// offsets; unused ones move garbage between lanes that nobody reads.
template <class T, class Index, std::size_t... Lane>
SLICESORT_INLINE void scatter_row(T const* in, Index const* perm, T* tile,
                                  std::index_sequence<Lane...>) {
  ((tile[static_cast<std::size_t>(perm[Lane]) * tile_columns + Lane] = in[Lane]), ...);
}
// Gathers one row of the output from the rows that `perm` names, likewise.
template <class T, class Index, std::size_t... Lane>
SLICESORT_INLINE void gather_row(T const* tile, Index const* perm, T* out,
                                 std::index_sequence<Lane...>) {
  ((out[Lane] = tile[static_cast<std::size_t>(perm[Lane]) * tile_columns + Lane]), ...);
}

// Prefetches for a copy, whose rows take so little time that they are asked for twice: far ahead,
// and then into the nearest cache.
template <class T>
void prefetch_copied_rows(permuted_tile<T> const& t, index_t i, int count) {
  constexpr unsigned well_ahead = 64;
  index_t const pitch = t.in_at.pitch;
  T const* row = t.in + t.in_at.start[0] + i * pitch;
  for (int k = 0; k < count; ++k, row += pitch) {
    if (i + k + static_cast<index_t>(well_ahead) < t.rows)
      prefetch_after<well_ahead, 2>(row, pitch);
    prefetch_after(row, pitch);
  }
}

// Fills the tile: in the order of the output, or with Gather in that of the input.
template <bool Gather, class Index, class T>
void load_tile(permuted_tile<T> const& t) {
  constexpr int batch = 8;
  T values[std::size_t{batch} * tile_columns];
  Index indices[std::size_t{batch} * tile_columns] = {};
  for (index_t i = 0; i < t.rows; i += batch) {
    int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
    if (Gather) {
      if (t.in_at.dense) prefetch_copied_rows(t, i, count);
      gather_rows(t.in, t.in_at, 0, t.width, i, count, t.scratch + i * tile_columns, tile_columns);
      continue;
    }
    whole_rows<T> const in = input_rows(t, i, count, values);
    whole_rows<Index> const p = permutation_rows_of(t, i, count, indices);
    for (int k = 0; k < count; ++k) {
      if (t.in_at.dense) prefetch_after(in[k], in.pitch);
      if (t.perm_layout.dense) prefetch_after(p[k], p.pitch);
      scatter_row(in[k], p[k], t.scratch, std::make_index_sequence<tile_columns>{});
    }
  }
}

// Rows i .. of the output, from the tile.
template <bool Gather, bool Stream, class Index, class T>
void store_tile_rows(permuted_tile<T> const& t, index_t i, Index* indices) {
  int const count = static_cast<int>(std::min<index_t>(t.rows - i, store_batch_rows));
  if (!Gather)
    return store_rows<Stream>(t.scratch + i * tile_columns, i, count, t.out_at, t.width, t.mode,
                              t.out);
  T rows[std::size_t{store_batch_rows} * tile_columns];
  whole_rows<Index> const p = permutation_rows_of(t, i, count, indices);
  for (int k = 0; k < count; ++k) {
    if (t.perm_layout.dense) prefetch_after(p[k], p.pitch);
    gather_row(t.scratch, p[k], rows + k * tile_columns, std::make_index_sequence<tile_columns>{});
  }
  store_rows<Stream>(rows, i, count, t.out_at, t.width, t.mode, t.out);
}

// Writes tiles of as many rows in turns: two lines side by side cost what one does.
template <bool Gather, bool Stream, class Index, class T>
void write_tiles(permuted_tile<T> const* tiles, int count) {
  Index indices[std::size_t{store_batch_rows} * tile_columns] = {};
  for (index_t i = 0; i < tiles->rows; i += store_batch_rows)
    for (permuted_tile<T> const* t = tiles; t != tiles + count; ++t)
      store_tile_rows<Gather, Stream>(*t, i, indices);
  portable::finish_streaming<Stream>();
}

template <bool Gather, class Index, class T>
void move_tiles(permuted_tile<T> const* tiles, int count) {
  bool stream = true;
  for (permuted_tile<T> const* t = tiles; t != tiles + count; ++t) {
    load_tile<Gather, Index>(*t);
    stream &= t->stream;
  }
  if (stream)
    write_tiles<Gather, true, Index>(tiles, count);
  else
    write_tiles<Gather, false, Index>(tiles, count);
}

// One tile, or two that lie side by side.
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
