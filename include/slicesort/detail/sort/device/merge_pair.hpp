// SPDX-License-Identifier: Apache-2.0
// Merges the two sorted halves of a column. Each of the two blocks of a cluster holds one half.
// Every thread finds its range of the output by merge path and reads both halves in place.
#pragma once

#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/merge_path.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Half of a column in the shared memory of block `block_rank` of the cluster.
template <class T, class Tile>
struct half_column {
  Tile tile;
  bool ascending;

  template <class Block>
  SLICESORT_HD_INLINE half_column(Block& block, Tile own_tile, int block_rank, bool ascends)
      : tile(own_tile), ascending(ascends) {
    tile.high = block.map_shared_rank(own_tile.high, block_rank);
    if constexpr (Tile::keys::has_low) tile.low = block.map_shared_rank(own_tile.low, block_rank);
  }
  SLICESORT_HD_INLINE bits_t<T> value(int row) const {
    return tile.template value<bits_t<T>>(tile.position(row, 0));
  }
  SLICESORT_HD_INLINE std::uint32_t row(int row) const { return tile.row(tile.position(row, 0)); }
  SLICESORT_HD_INLINE bits_t<T> operator()(index_t row) const {
    return column_key<T>(value(static_cast<int>(row)), ascending);
  }
};

// Requires a tile of values (key_tile::store_value), not packed keys. The first half has
// `half_rows` rows.
template <class Block, class Tile, class View>
SLICESORT_HD_INLINE void merge_halves(Block& block, Tile tile, View const& view,
                                      typename View::column_index column, bool ascending,
                                      int half_rows) {
  using T = typename View::element;
  int const valid = static_cast<int>(view.valid(column));
  int const a_size = valid < half_rows ? valid : half_rows, b_size = valid - a_size;
  int const threads = 2 * block.size();
  int const rows_per_thread = divide_up(valid, threads);
  int const first = (block.cluster_rank() * block.size() + block.rank()) * rows_per_thread;
  int const end = first + rows_per_thread < valid ? first + rows_per_thread : valid;
  if (first >= end) return;

  half_column<T, Tile> const a(block, tile, 0, ascending), b(block, tile, 1, ascending);
  auto const y = view.results(column);
  auto const perm = view.source_rows(column);
  merge_iterator<half_column<T, Tile>> merge(a, a_size, b, b_size, first);
  for (int n = first; n < end; ++n) {
    bool const take_a = merge.next_is_a();
    int const row = take_a ? merge.a_row() : merge.b_row();
    if (view.needs_values()) y[n] = bit_cast<T>(take_a ? a.value(row) : b.value(row));
    if (view.needs_rows())
      perm.set(n, take_a ? a.row(row) : static_cast<std::uint32_t>(half_rows) + b.row(row));
    merge.advance(take_a);
  }
}

SLICESORT_DETAIL_END
