// SPDX-License-Identifier: Apache-2.0
// Permutes a tile column by column. The tile is transposed on load and on store, so a column is
// contiguous while it is permuted, and a random access hits the L1 cache up to about 8192 rows. In
// permute_tile.hpp it hits the whole tile, which the L1 cache does not hold.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/transpose.hpp>
#include <slicesort/detail/permutation/host/permute_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

SLICESORT_DETAIL_BEGIN

// True if tiles of this length are transposed: even half a tile leaves the L1 cache, and 16 bits
// hold a row. Tiles of 16-bit elements are half as large and gain nothing.
template <class T>
constexpr bool permutes_transposed(index_t rows) {
  return sizeof(T) >= 4 && rows > 1024 && rows <= 65536;
}

// Transposed tile of a thread. Column c of the input is stored at values + (c + 1) * pitch and
// permuted to values + c * pitch, over the previous column.
template <class T>
struct transposed_scratch {
  T* values = nullptr;            // [33][pitch]
  std::uint16_t* perm = nullptr;  // [32][pitch]
  index_t pitch = 0;

  transposed_scratch() = default;
  transposed_scratch(arena& memory, index_t rows) : pitch(transposed_pitch<std::uint16_t>(rows)) {
    auto const column = static_cast<std::size_t>(pitch);
    values = memory.take<T>((tile_columns + 1) * column);
    perm = memory.take<std::uint16_t>(tile_columns * column);
  }
};

// Functions that transpose a batch of rows.
template <class T>
struct tile_transposes {
  block_transpose<transposed_batch_rows, tile_columns, T> load;
  block_transpose<tile_columns, transposed_batch_rows, T> store;
  block_transpose<transposed_batch_rows, tile_columns, std::uint16_t> load_perm;

  explicit tile_transposes(isa set) : load(set), store(set), load_perm(set) {}
};

// Narrows a batch of rows of 32-bit indices.
inline row_sequence<std::uint16_t> narrow_rows(row_sequence<std::uint16_t> rows, std::uint16_t*) {
  return rows;
}
inline row_sequence<std::uint16_t> narrow_rows(row_sequence<std::uint32_t> rows,
                                               std::uint16_t* stage) {
  for (int k = 0; k < transposed_batch_rows; ++k)
    for (int lane = 0; lane < tile_columns; ++lane)
      stage[k * tile_columns + lane] = static_cast<std::uint16_t>(rows[k][lane]);
  return {stage, tile_columns};
}

// Loads the tile and its permutation, transposed.
template <class Index, class T>
void load_transposed(permuted_tile<T> const& tile, tile_transposes<T> const& transposes,
                     transposed_scratch<T> const& scratch) {
  constexpr std::size_t batch = std::size_t{transposed_batch_rows} * tile_columns;
  T values[batch];
  Index indices[batch] = {};
  std::uint16_t narrow[batch];
  for (index_t first_row = 0; first_row < tile.rows; first_row += transposed_batch_rows) {
    bool const whole = tile.rows - first_row >= transposed_batch_rows;
    int const count = whole ? transposed_batch_rows : static_cast<int>(tile.rows - first_row);
    row_sequence<T> const x = load_input_rows(tile, first_row, count, values, whole);
    row_sequence<Index> const perm = load_permutation_rows(tile, first_row, count, indices, whole);
    for (int k = 0; k < count; ++k) {
      if (tile.x_layout.dense) prefetch_after(x[k], x.pitch);
      if (tile.perm_layout.dense) prefetch_after(perm[k], perm.pitch);
    }
    transposes.load.run(x.data, x.pitch, scratch.values + scratch.pitch + first_row, scratch.pitch);
    row_sequence<std::uint16_t> const rows = narrow_rows(perm, narrow);
    transposes.load_perm.run(rows.data, rows.pitch, scratch.perm + first_row, scratch.pitch);
  }
}

template <bool Gather, class T, std::size_t... Row>
SLICESORT_INLINE void permute_elements(T const* x, std::uint16_t const* perm, index_t first_row,
                                       T* y, std::index_sequence<Row...>) {
  auto const first = static_cast<std::size_t>(first_row);
  ((y[Gather ? first + Row : perm[first + Row]] = x[Gather ? perm[first + Row] : first + Row]),
   ...);
}
template <bool Gather, class T>
void permute_column(T const* x, std::uint16_t const* perm, index_t rows, T* y) {
  constexpr std::size_t unroll = 16;
  index_t row = 0;
  for (; row + static_cast<index_t>(unroll) <= rows; row += static_cast<index_t>(unroll))
    permute_elements<Gather>(x, perm, row, y, std::make_index_sequence<unroll>{});
  for (; row < rows; ++row)
    permute_elements<Gather>(x, perm, row, y, std::make_index_sequence<1>{});
}

template <bool Stream, class T>
void store_transposed(permuted_tile<T> const& tile, tile_transposes<T> const& transposes,
                      transposed_scratch<T> const& scratch) {
  static_assert(transposed_batch_rows == store_batch_rows);
  T rows[std::size_t{transposed_batch_rows} * tile_columns];
  for (index_t first_row = 0; first_row < tile.rows; first_row += transposed_batch_rows) {
    transposes.store.run(scratch.values + first_row, scratch.pitch, rows, tile_columns);
    store_rows<Stream>(rows, first_row,
                       static_cast<int>(std::min<index_t>(tile.rows - first_row, store_batch_rows)),
                       tile.y_layout, tile.width, tile.mode, tile.y);
  }
  portable::finish_streaming<Stream>();
}

template <class T>
void permute_transposed(permuted_tile<T> const& tile, tile_transposes<T> const& transposes,
                        transposed_scratch<T> const& scratch) {
  if (tile.perm_width == index_width::bits16)
    load_transposed<std::uint16_t>(tile, transposes, scratch);
  else
    load_transposed<std::uint32_t>(tile, transposes, scratch);
  for (int lane = 0; lane < tile.width; ++lane) {
    T* const permuted = scratch.values + lane * scratch.pitch;
    T const* const column = permuted + scratch.pitch;
    std::uint16_t const* const perm = scratch.perm + lane * scratch.pitch;
    if (tile.gather)
      permute_column<true>(column, perm, tile.rows, permuted);
    else
      permute_column<false>(column, perm, tile.rows, permuted);
  }
  if (tile.stream)
    store_transposed<true>(tile, transposes, scratch);
  else
    store_transposed<false>(tile, transposes, scratch);
}

SLICESORT_DETAIL_END
