// SPDX-License-Identifier: Apache-2.0
// Loads the rows of a tensor as contiguous columns of a radix tile, and stores them back: stages a
// few rows at a time and transposes squares of elements in registers. Copies columns one by one if
// they are few or contiguous.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/transpose.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

SLICESORT_DETAIL_BEGIN

template <class T>
inline constexpr int radix_columns = 64 / static_cast<int>(sizeof(T));

// True if the columns of an operand are copied one by one.
template <class T>
bool copies_single_columns(tile_operand const& layout) {
  return layout.width <= radix_columns<T> / 4 || layout.pitch == 1;
}

// Loads column c as keys. Returns the bits that some key has lost.
template <class T>
bits_t<T> load_column(column_tile<T> const& tile, int c, bits_t<T>* keys) {
  using bits = bits_t<T>;
  constexpr int lanes = portable::vector_bytes / static_cast<int>(sizeof(bits));
  using V = portable::vec<bits, lanes>;
  T const* const x = tile.x + tile.x_layout.start[c];
  for (index_t i = 0; i < tile.rows; ++i)
    std::memcpy(keys + i, x + i * tile.x_layout.pitch, sizeof(bits));
  V lost{};
  V const descending_mask = portable::broadcast<V>(tile.descending_mask[c]);
  for (index_t i = 0; i < tile.rows; i += lanes)  // the pitch has room for whole vectors
    portable::store_lanes(
        keys + i, portable::canonical_keys<T, lanes>(portable::load_lanes<V>(keys + i), lost) ^
                      descending_mask);
  bits lost_bits[static_cast<std::size_t>(lanes)], any_lost = 0;
  portable::store_lanes(lost_bits, lost);
  for (bits lane_bits : lost_bits) any_lost |= lane_bits;
  return any_lost;
}

// Loads the tile as keys. Sets in lost_bits[c] the bits that some key of column c has lost.
template <class T>
void load_columns(column_tile<T> const& tile, bits_t<T>* keys, index_t pitch,
                  bits_t<T>* lost_bits) {
  using bits = bits_t<T>;
  if (copies_single_columns<T>(tile.x_layout)) {
    for (int c = 0; c < tile.width; ++c) lost_bits[c] = load_column(tile, c, keys + c * pitch);
    return;
  }
  constexpr int columns = radix_columns<T>,
                lanes = portable::vector_bytes / static_cast<int>(sizeof(bits));
  using V = portable::vec<bits, lanes>;
  alignas(64) bits stage[static_cast<std::size_t>(transposed_batch_rows * columns)] = {};
  for (index_t i = 0; i < tile.rows; i += transposed_batch_rows) {
    int const count = tile.rows - i < transposed_batch_rows ? static_cast<int>(tile.rows - i)
                                                            : transposed_batch_rows;
    gather_rows(tile.x, tile.x_layout, 0, tile.width, i, count, stage, columns);
    for (int c = 0; c < columns; c += lanes) {
      V lost = portable::load_lanes<V>(lost_bits + c);
      V const descending_mask = portable::load_lanes<V>(tile.descending_mask + c);
      for (bits* row = stage + c; row < stage + count * columns; row += columns)
        portable::store_lanes(
            row, portable::canonical_keys<T, lanes>(portable::load_lanes<V>(row), lost) ^
                     descending_mask);
      portable::store_lanes(lost_bits + c, lost);
    }
    portable::transpose_block<transposed_batch_rows, columns>(stage, columns, keys + i, pitch);
  }
}

// Stores the tile's columns; streaming stores write whole lines.
template <class T, class Element, class Output>
void store_columns(Element const* from, index_t pitch, column_tile<T> const& tile,
                   tile_operand const& layout, Output* to) {
  constexpr int columns = radix_columns<T>;
  index_t const rows = tile.rows < tile.stored_rows ? tile.rows : tile.stored_rows;
  if (copies_single_columns<T>(layout)) {
    for (int c = 0; c < tile.width; ++c)
      for (index_t i = 0; i < rows; ++i)
        std::memcpy(static_cast<void*>(to + layout.start[c] + i * layout.pitch),
                    from + c * pitch + i, sizeof(Element));
    return;
  }
  alignas(64) Element stage[static_cast<std::size_t>(transposed_batch_rows * columns)];
  for (index_t i = 0; i < rows; i += transposed_batch_rows) {
    int const count =
        rows - i < transposed_batch_rows ? static_cast<int>(rows - i) : transposed_batch_rows;
    portable::transpose_block<columns, transposed_batch_rows>(from + i, pitch, stage, columns);
    if (tile.stream)
      for (int k = 0; k < count; ++k)
        copy_row<true, columns>(stage + k * columns, to + layout.start[0] + (i + k) * layout.pitch);
    else
      scatter_rows(stage, columns, tile.width, i, count, layout, to);
  }
  portable::finish_streaming<true>();
}

SLICESORT_DETAIL_END
