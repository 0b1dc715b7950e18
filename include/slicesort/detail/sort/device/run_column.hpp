// SPDX-License-Identifier: Apache-2.0
// One run of one column. Loads its rows into a tile of packed keys and stores the sorted rows.
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

// Rows that a thread loads and stores. They are in one column of the tile, and among the rows of
// its block.
struct thread_rows {
  int column;       // column number in the tile, which the blocks of a cluster may share
  int first, step;  // rows of the thread
  int from, to;     // rows of the block

  SLICESORT_HD_INLINE row_range rows(int begin, int end) const {
    return {(begin < from ? from : begin) + first, step, end < to ? end : to};
  }
};

template <class View>
struct run_column {
  using T = typename View::element;
  using bits = bits_t<T>;
  // Rows that a thread has in flight. More would push 16-bit types over 64 registers.
  static constexpr int in_flight = 4;

  index_t number, first_row;  // column number in the launch; first row of the run
  typename View::column_index column{};
  int rows = 0, valid = 0;
  bool ascending = true;

  template <class Tiles>
  SLICESORT_HD_INLINE run_column(Tiles const& tiles, index_t column_number, index_t row)
      : number(column_number), first_row(row) {
    if (column_number >= tiles.columns) return;  // the last tile may have unused columns
    column = tiles.view.locate(tiles.first_column + column_number);
    ascending = tiles.view.ascending(column);
    index_t const remaining = tiles.view.rows(column) - row,
                  remaining_valid = tiles.view.valid(column) - row;
    rows = static_cast<int>(remaining < 0                ? 0
                            : remaining < tiles.run_rows ? remaining
                                                         : tiles.run_rows);
    valid = static_cast<int>(remaining_valid < 0      ? 0
                             : remaining_valid < rows ? remaining_valid
                                                      : rows);
  }

  // Returns true if some value cannot be decoded from its key.
  template <class Block, class Tiles, class Tile>
  SLICESORT_HD_INLINE bool load(Tiles const& tiles, Tile tile, thread_rows rows_of_thread) const {
    row_range const range = rows_of_thread.rows(0, valid);
    if (range.first >= range.end) return false;
    auto x = tiles.view.values(column).walk(first_row, range);
    int const tile_column = rows_of_thread.column & (tiles.width - 1);
    bool lossy = false;
    copy_rows<in_flight>(
        range, [&](int) { return bit_cast<bits>(x.next()); },
        [&](int n, bits value) {
          lossy |= key_alters<T>(value);
          tile.store(tile.position(n, tile_column),
                     key_of<Block, Tile>(value, ascending, static_cast<std::uint32_t>(n)));
        });
    return lossy;
  }

  // Replaces keys by values. It runs before any store, because y may alias x, which must be read
  // first.
  template <class Tiles, class Tile>
  SLICESORT_HD_INLINE void restore(Tiles const& tiles, Tile tile,
                                   thread_rows rows_of_thread) const {
    row_range const range = rows_of_thread.rows(0, valid);
    if (range.first >= range.end) return;
    auto const x = tiles.view.values(column);
    int const tile_column = rows_of_thread.column & (tiles.width - 1);
    for (int n = range.first; n < range.end; n += range.step) {
      int const offset = tile.position(n, tile_column);
      auto const w = tile.load(offset);
      std::uint32_t const row = Tile::keys::row(w);
      bits const value = Tile::keys::value(w, ascending);
      tile.store_value(offset, key_loses<T>(value) ? bit_cast<bits>(x[first_row + row]) : value,
                       row);
    }
  }

  // Stores sorted rows to y, or to the workspace if the column has several runs.
  template <class Tiles, class Tile>
  SLICESORT_HD_INLINE void store(Tiles const& tiles, Tile tile, thread_rows rows_of_thread,
                                 bool restored) const {
    if (rows == 0) return;
    int const tile_column = rows_of_thread.column & (tiles.width - 1);
    auto const row = [&](int n) {
      int const offset = tile.position(n, tile_column);
      return restored ? tile.row(offset) : Tile::keys::row(tile.load(offset));
    };
    auto const value = [&](int n) {
      int const offset = tile.position(n, tile_column);
      return bit_cast<T>(restored ? tile.template value<bits>(offset)
                                  : Tile::keys::value(tile.load(offset), ascending));
    };
    row_range const range = rows_of_thread.rows(0, valid);
    if (tiles.runs > 1) {
      index_t const offset = tiles.out.offset(number) + first_row;
      auto const start = static_cast<std::uint32_t>(first_row);
      T* const values = tiles.out.values + offset;
      copy_rows<in_flight>(range, value, [&](int n, T element) { values[n] = element; });
      std::uint32_t* const sources = tiles.out.rows + offset;
      if (tiles.out.rows != nullptr)
        copy_rows<in_flight>(range, row,
                             [&](int n, std::uint32_t from) { sources[n] = start + from; });
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
  SLICESORT_HD_INLINE void copy_tail(Tiles const& tiles, thread_rows rows_of_thread) const {
    row_range const range = rows_of_thread.rows(valid, rows);
    for (int n = range.first; n < range.end; n += range.step) {
      index_t const row = first_row + n;
      if (tiles.view.needs_values())
        tiles.view.results(column)[row] = tiles.view.values(column)[row];
      if (tiles.view.needs_rows())
        tiles.view.source_rows(column).set(row, static_cast<std::uint32_t>(row));
    }
  }

 private:
  // 16-bit keys are built by row_words, which is faster.
  template <class Block, class Tile>
  static SLICESORT_HD_INLINE auto key_of(bits value, bool ascends, std::uint32_t row) {
    if constexpr (sizeof(T) == 2)
      return row_words<T, 65536>::template make<Block>(value, ascends ? 0u : ~0u, row);
    else
      return Tile::keys::make(value, ascends, row);
  }
};

SLICESORT_DETAIL_END
