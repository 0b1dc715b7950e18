// SPDX-License-Identifier: Apache-2.0
// The rows of one run in one column, as they are loaded into a tile of packed keys, and stored from
// it once it is sorted.
#pragma once

#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/row_words.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// A thread's rows of a tile, among those that its block loads and stores. It stays in one column.
struct thread_rows {
  int column;       // of the tile, or of the one that blocks share
  int first, step;  // rows
  int from, to;     // the block's rows

  SLICESORT_HD_INLINE row_range rows(int begin, int end) const {
    return {(begin < from ? from : begin) + first, step, end < to ? end : to};
  }
};

template <class View>
struct run_column {
  using T = typename View::element;
  using bits = bits_t<T>;
  // Rows that a thread has under way. With more, 16-bit types would take over 64 registers.
  static constexpr int at_once = 4;

  index_t number, first_row;  // column of the launch
  typename View::column_index at{};
  int rows = 0, valid = 0;
  bool ascending = true;

  // `tiles` is the launch's sort_tile_kernel.
  template <class Tiles>
  SLICESORT_HD_INLINE run_column(Tiles const& tiles, index_t column, index_t row)
      : number(column), first_row(row) {
    if (column >= tiles.columns) return;  // a tile may be wider than the columns that remain
    at = tiles.view.locate(tiles.first_column + column);
    ascending = tiles.view.ascending(at);
    index_t const below = tiles.view.rows(at) - row, valid_below = tiles.view.valid(at) - row;
    rows = static_cast<int>(below < 0 ? 0 : below < tiles.run_rows ? below : tiles.run_rows);
    valid = static_cast<int>(valid_below < 0 ? 0 : valid_below < rows ? valid_below : rows);
  }

  // Returns true if some value cannot be told from its key.
  template <class Block, class Tiles, class Tile>
  SLICESORT_HD_INLINE bool load(Tiles const& tiles, Tile tile, thread_rows walk) const {
    row_range const range = walk.rows(0, valid);
    if (range.first >= range.end) return false;
    auto x = tiles.view.values(at).walk(first_row, range);
    int const column = walk.column & (tiles.width - 1);
    bool lossy = false;
    copy_rows<at_once>(
        range, [&](int) { return bit_cast<bits>(x.next()); },
        [&](int n, bits value) {
          lossy |= key_alters<T>(value);
          tile.store(tile.position(n, column),
                     key_of<Block, Tile>(value, ascending, static_cast<std::uint32_t>(n)));
        });
    return lossy;
  }

  // Replaces keys by values, so that x, which may be y, is not read any more once y is written.
  template <class Tiles, class Tile>
  SLICESORT_HD_INLINE void restore(Tiles const& tiles, Tile tile, thread_rows walk) const {
    row_range const range = walk.rows(0, valid);
    if (range.first >= range.end) return;
    auto const x = tiles.view.values(at);
    int const column = walk.column & (tiles.width - 1);
    for (int n = range.first; n < range.end; n += range.step) {
      int const offset = tile.position(n, column);
      auto const w = tile.load(offset);
      std::uint32_t const row = Tile::keys::row(w);
      bits const value = Tile::keys::value(w, ascending);
      tile.store_value(offset, key_loses<T>(value) ? bit_cast<bits>(x[first_row + row]) : value,
                       row);
    }
  }

  // Stores sorted rows in y; of one run among several, in the workspace.
  template <class Tiles, class Tile>
  SLICESORT_HD_INLINE void store(Tiles const& tiles, Tile tile, thread_rows walk,
                                 bool restored) const {
    if (rows == 0) return;
    int const column = walk.column & (tiles.width - 1);
    auto const row = [&](int n) {
      int const offset = tile.position(n, column);
      return restored ? tile.row(offset) : Tile::keys::row(tile.load(offset));
    };
    auto const value = [&](int n) {
      int const offset = tile.position(n, column);
      return bit_cast<T>(restored ? tile.template value<bits>(offset)
                                  : Tile::keys::value(tile.load(offset), ascending));
    };
    row_range const range = walk.rows(0, valid);
    if (tiles.runs > 1) {
      index_t const offset = tiles.out.offset(number) + first_row;
      auto const start = static_cast<std::uint32_t>(first_row);
      T* const values = tiles.out.values + offset;
      copy_rows<at_once>(range, value, [&](int n, T element) { values[n] = element; });
      std::uint32_t* const sources = tiles.out.rows + offset;
      if (tiles.out.rows != nullptr)
        copy_rows<at_once>(range, row,
                           [&](int n, std::uint32_t from) { sources[n] = start + from; });
      return;
    }
    if (tiles.view.needs_values() && range.first < range.end) {
      auto y = tiles.view.results(at).walk(0, range);
      copy_rows<at_once>(range, value, [&](int, T element) { y.next() = element; });
    }
    if (tiles.view.needs_rows()) tiles.view.numbers(at).template set_rows<at_once>(0, range, row);
  }

  // Copies rows past the sample's length, which stay in place.
  template <class Tiles>
  SLICESORT_HD_INLINE void copy_tail(Tiles const& tiles, thread_rows walk) const {
    row_range const range = walk.rows(valid, rows);
    for (int n = range.first; n < range.end; n += range.step) {
      index_t const row = first_row + n;
      if (tiles.view.needs_values()) tiles.view.results(at)[row] = tiles.view.values(at)[row];
      if (tiles.view.needs_rows()) tiles.view.numbers(at).set(row, static_cast<std::uint32_t>(row));
    }
  }

 private:
  // Keys of 16 bits are made in the block's own way, which is quicker.
  template <class Block, class Tile>
  static SLICESORT_HD_INLINE auto key_of(bits value, bool up, std::uint32_t row) {
    if constexpr (sizeof(T) == 2)
      return row_words<T, 65536>::template make<Block>(value, up ? 0u : ~0u, row);
    else
      return Tile::keys::make(value, up, row);
  }
};

SLICESORT_DETAIL_END
