// SPDX-License-Identifier: Apache-2.0
// One run of a column: loads its rows into a tile of packed keys, and stores the sorted rows.
#pragma once

#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/sort_row_words.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Rows that a thread loads and stores: every `row_step`-th of its block's rows of one column.
struct thread_rows {
  int column;                  // number of the column in the tile
  int first_row, row_step;     // the first row counts from block_begin
  int block_begin, block_end;  // rows that the block loads and stores

  // Returns the thread's rows in [begin, end).
  SLICESORT_HD_INLINE row_range clip(int begin, int end) const {
    return {(begin < block_begin ? block_begin : begin) + first_row, row_step,
            end < block_end ? end : block_end};
  }
};

template <class View>
struct run_column {
  using T = typename View::element;
  using bits = bits_t<T>;
  // Rows that a thread has in flight. More would push 16-bit types over 64 registers.
  static constexpr int in_flight = 4;

  index_t column_in_launch, first_row;  // number of the column in the launch; first row of the run
  typename View::column_index column{};
  int row_count = 0, valid_row_count = 0;
  bool ascending = true;

  template <class Tiles>
  SLICESORT_HD_INLINE run_column(Tiles const& tiles, index_t column_number, index_t run_start)
      : column_in_launch(column_number), first_row(run_start) {
    if (column_number >= tiles.columns) return;  // the last tile may have unused columns
    column = tiles.view.locate(tiles.first_column + column_number);
    ascending = tiles.view.ascending(column);
    index_t const remaining = tiles.view.rows(column) - run_start,
                  remaining_valid = tiles.view.valid(column) - run_start;
    row_count = static_cast<int>(remaining < 0                ? 0
                                 : remaining < tiles.run_rows ? remaining
                                                              : tiles.run_rows);
    valid_row_count = static_cast<int>(remaining_valid < 0           ? 0
                                       : remaining_valid < row_count ? remaining_valid
                                                                     : row_count);
  }

  // Returns true if some value cannot be decoded from its key.
  template <class Block, class Tiles, class Tile>
  SLICESORT_HD_INLINE bool load(Tiles const& tiles, Tile tile, thread_rows thread_share) const {
    row_range const range = thread_share.clip(0, valid_row_count);
    if (range.first >= range.end) return false;
    auto x = tiles.view.values(column).walk(first_row, range);
    int const tile_column = thread_share.column & (tiles.width - 1);
    bool lossy = false;
    copy_rows<in_flight>(
        range, [&](int) { return bit_cast<bits>(x.next()); },
        [&](int n, bits value) {
          lossy |= key_alters<T>(value);
          tile.store(tile.position(n, tile_column),
                     make_key<Block, Tile>(value, ascending, static_cast<std::uint32_t>(n)));
        });
    return lossy;
  }

  // Replaces keys by values. Must run before any store, because it reads x, which y may alias.
  template <class Tiles, class Tile>
  SLICESORT_HD_INLINE void restore(Tiles const& tiles, Tile tile, thread_rows thread_share) const {
    row_range const range = thread_share.clip(0, valid_row_count);
    if (range.first >= range.end) return;
    auto const x = tiles.view.values(column);
    int const tile_column = thread_share.column & (tiles.width - 1);
    for (int n = range.first; n < range.end; n += range.step) {
      int const offset = tile.position(n, tile_column);
      auto const key = tile.load(offset);
      std::uint32_t const row = Tile::keys::row(key);
      bits const value = Tile::keys::value(key, ascending);
      tile.store_value(offset, key_loses<T>(value) ? bit_cast<bits>(x[first_row + row]) : value,
                       row);
    }
  }

  // Stores the sorted rows to y, or to the workspace if the column has several runs.
  // `holds_values`: `restore` has replaced the keys of the tile.
  template <class Tiles, class Tile>
  SLICESORT_HD_INLINE void store(Tiles const& tiles, Tile tile, thread_rows thread_share,
                                 bool holds_values) const {
    if (row_count == 0) return;
    int const tile_column = thread_share.column & (tiles.width - 1);
    auto const row = [&](int n) {
      int const offset = tile.position(n, tile_column);
      return holds_values ? tile.row(offset) : Tile::keys::row(tile.load(offset));
    };
    auto const value = [&](int n) {
      int const offset = tile.position(n, tile_column);
      return bit_cast<T>(holds_values ? tile.template value<bits>(offset)
                                      : Tile::keys::value(tile.load(offset), ascending));
    };
    row_range const range = thread_share.clip(0, valid_row_count);
    if (tiles.runs > 1) {
      index_t const offset = tiles.run_output.offset(column_in_launch) + first_row;
      auto const start = static_cast<std::uint32_t>(first_row);
      T* const values = tiles.run_output.values + offset;
      copy_rows<in_flight>(range, value, [&](int n, T element) { values[n] = element; });
      std::uint32_t* const sources = tiles.run_output.rows + offset;
      if (tiles.run_output.rows != nullptr)
        copy_rows<in_flight>(
            range, row, [&](int n, std::uint32_t source_row) { sources[n] = start + source_row; });
      return;
    }
    if (tiles.view.needs_values() && range.first < range.end) {
      auto y = tiles.view.results(column).walk(0, range);
      copy_rows<in_flight>(range, value, [&](int, T element) { y.next() = element; });
    }
    if (tiles.view.needs_rows())
      tiles.view.source_rows(column).template set_rows<in_flight>(0, range, row);
  }

  template <class Tiles>
  SLICESORT_HD_INLINE void copy_tail(Tiles const& tiles, thread_rows thread_share) const {
    row_range const range = thread_share.clip(valid_row_count, row_count);
    for (int n = range.first; n < range.end; n += range.step) {
      index_t const row = first_row + n;
      if (tiles.view.needs_values())
        tiles.view.results(column)[row] = tiles.view.values(column)[row];
      if (tiles.view.needs_rows())
        tiles.view.source_rows(column).set(row, static_cast<std::uint32_t>(row));
    }
  }

 private:
  // row_word packs 16-bit keys faster.
  template <class Block, class Tile>
  static SLICESORT_HD_INLINE auto make_key(bits value, bool ascends, std::uint32_t row) {
    if constexpr (sizeof(T) == 2)
      return row_word<T, 65536>::template make<Block>(value, ascends ? 0u : ~0u, row);
    else
      return Tile::keys::make(value, ascends, row);
  }
};

SLICESORT_DETAIL_END
