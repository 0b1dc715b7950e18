// SPDX-License-Identifier: Apache-2.0
// Rows of a tile, 32 elements each, on their way to a tensor.
#pragma once

#include <slicesort/detail/host/add_elements.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/simd/vectors.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Copies a row of `Columns` elements, whole vectors of 16 bytes, to elements of the same size.
template <bool Stream, int Columns = tile_columns, class From, class To>
SLICESORT_INLINE void copy_row(From const* from, To* to) {
  static_assert(sizeof(From) == sizeof(To), "bits move as they are");
  using V = portable::vec<std::uint64_t, 2>;
  constexpr int per_vector = static_cast<int>(sizeof(V) / sizeof(To));
  for (int lane = 0; lane < Columns; lane += per_vector)
    portable::store_vector<Stream>(to + lane, portable::load_lanes<V>(from + lane));
}

// The most rows of one call of store_rows.
inline constexpr int store_batch_rows = 16;

// Stores `count` rows to rows i .. of the tensor, or adds them. With Stream, the caller must call
// finish_streaming when all is stored.
template <bool Stream, class T>
void store_rows(T const* from, index_t i, int count, tile_operand const& at, int width,
                grad_mode mode, T* to) {
  T sums[std::size_t{store_batch_rows} * tile_columns];
  if (mode == grad_mode::accumulate) {
    gather_rows(to, at, 0, width, i, count, sums, tile_columns);
    for (int k = 0; k < count; ++k)
      add_elements(sums + k * tile_columns, from + k * tile_columns, width);
    from = sums;
  }
  if (at.dense)
    for (int k = 0; k < count; ++k)
      copy_row<Stream>(from + k * tile_columns, to + at.start[0] + (i + k) * at.pitch);
  else
    scatter_rows(from, tile_columns, width, i, count, at, to);
}

SLICESORT_DETAIL_END
