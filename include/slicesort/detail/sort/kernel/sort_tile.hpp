// SPDX-License-Identifier: Apache-2.0
// Columns that fit in shared memory: a block takes a tile of neighboring columns, sorts it there
// and writes it out. Longer columns are cut into runs, which are sorted the same way into the
// workspace; or, where there are two, by the two blocks of a cluster, which then merge their
// halves.
#pragma once

#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/math/raw_key.hpp>
#include <slicesort/detail/sort/kernel/columns_view.hpp>
#include <slicesort/detail/sort/kernel/key_tile.hpp>
#include <slicesort/detail/sort/kernel/merge_pair.hpp>
#include <slicesort/detail/sort/kernel/tile_network.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// Sorted runs of some columns in the workspace, each column contiguous: [columns, length].
template <class T>
struct sorted_runs {
  T* values = nullptr;
  std::uint32_t* rows = nullptr;  // null: not kept
  index_t length = 0;

  SLICESORT_HD index_t offset(index_t column) const { return column * length; }
};

// Columns of a tile are taken in units of the rows that one thread holds, 32 or 16.
inline constexpr int tile_unit = 32;

// A thread holds 2^5 packed keys in registers, or 2^4 where that would be too many.
template <class Block, class T>
inline constexpr int tile_levels = sizeof(T) == 2 || (sizeof(T) == 4 && Block::big_register_file &&
                                                      !std::is_same_v<T, detail::raw_key32>)
                                       ? 5
                                       : 4;

template <class View>
struct sort_tile_body {
  static constexpr int max_threads = 512;
  using T = typename View::element;

  View view;
  index_t first_column, columns;  // of all samples' columns, those sorted by this launch
  int width = 1;                  // columns of a tile, a power of two
  int run_rows = 0;               // rows that are sorted at once: a multiple of 32 where runs > 1
  int runs = 1;                   // of a column
  bool paired = false;            // two runs, of two blocks in a cluster, one column wide
  sorted_runs<T> out{};           // where runs > 1 and not paired

  template <class SharedAllocator>
  SLICESORT_HD_INLINE auto shared(SharedAllocator& shared_memory) const {
    // Every kind of packed key takes the same memory; 4 levels leave the largest number of rows
    // free.
    return key_tile<detail::packed_key<T, false>, 4>::allocate(shared_memory, run_rows, width);
  }
  SLICESORT_HD_INLINE index_t tiles() const { return divide_up(columns, width); }

  template <class Block>
  SLICESORT_HD_INLINE void operator()(Block& block) const {
    auto const tile = tile_of(block);
    bool const lossy = sort(block, tile);
    // Computed anew, for the network needs all registers.
    column_part const c = part_of(block, walk_of(block).column);
    if (paired) {
      restore(c, tile, walk_of(block));
      block.sync_cluster();
      merge_pair(block, tile, view, c.at, c.ascending, run_rows);
      copy_tail(c, walk_of(block));
      block.sync_cluster();  // the other block may still read this one's memory
    } else {
      if (lossy) {
        restore(c, tile, walk_of(block));
        block.sync();
      }
      store(c, tile, walk_of(block), lossy);
    }
  }

 private:
  using bits = detail::bits_t<T>;

  template <class Block>
  SLICESORT_HD_INLINE auto tile_of(Block& block) const {
    auto const memory = shared(block);
    return key_tile<detail::packed_key<T, Block::fast_double>, tile_levels<Block, T>>{
        memory.high, memory.low, width};
  }

  // Whether any value must be restored.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool sort(Block& block, Tile tile) const {
    bool lossy = load(part_of(block, walk_of(block).column), tile, walk_of(block));
    if constexpr (detail::has_lossy_keys<T>)
      lossy = block.any(lossy);
    else
      block.sync();
    column_part const c = part_of(block, block.rank() % width);
    tile_network<typename Tile::keys, tile_levels<Block, T>, Block>(block, tile, c.valid)
        .sort(rows_from(c.first_row));
    return lossy;
  }

  // Loads and stores follow memory; the network does not care.
  template <class Block>
  SLICESORT_HD_INLINE tile_walk walk_of(Block& block) const {
    return {Block::opaque(block.rank()), block.size(), width, view.rows_adjacent()};
  }
  template <class Block>
  SLICESORT_HD_INLINE auto part_of(Block& block, int column_of_tile) const {
    // The runs of a pair are neighbors, else the tiles.
    index_t const tile = paired ? block.index() / runs : block.index() % tiles();
    index_t const run = paired ? block.index() % runs : block.index() / tiles();
    return column_part(*this, tile * width + column_of_tile, run * run_rows);
  }

  // Rows of a run, wherever its columns end.
  SLICESORT_HD_INLINE int rows_from(index_t first_row) const {
    index_t const left = view.length() - first_row;
    return static_cast<int>(left < run_rows ? left : run_rows);
  }

  // The rows of one run in one column.
  struct column_part {
    index_t number, first_row;  // column of the launch
    typename View::column_index at{};
    int rows = 0, valid = 0;
    bool ascending = true;

    SLICESORT_HD_INLINE column_part(sort_tile_body const& body, index_t column, index_t row)
        : number(column), first_row(row) {
      if (column >= body.columns) return;  // a tile may be wider than what is left
      at = body.view.locate(body.first_column + column);
      ascending = body.view.ascending(at);
      index_t const here = body.view.rows(at) - row, left = body.view.valid(at) - row;
      rows = static_cast<int>(here < 0 ? 0 : here < body.run_rows ? here : body.run_rows);
      valid = static_cast<int>(left < 0 ? 0 : left < rows ? left : rows);
    }
  };

  // Whether any value cannot be told from its key.
  template <class Tile>
  SLICESORT_HD_INLINE bool load(column_part const& c, Tile tile, tile_walk walk) const {
    if (c.valid == 0) return false;
    auto const x = view.values(c.at);
    bool lossy = false;
    SLICESORT_UNROLL_4
    for (int n = walk.first_row; n < c.valid; n += walk.step) {
      bits const value = detail::bit_cast<bits>(x[c.first_row + n]);
      lossy |= detail::key_alters<T>(value);
      tile.store(tile.position(n, walk.column),
                 Tile::keys::make(value, c.ascending, static_cast<std::uint32_t>(n)));
    }
    return lossy;
  }

  // Replaces keys by values, so that x, which may be y, is not read any more once y is written.
  template <class Tile>
  SLICESORT_HD_INLINE void restore(column_part const& c, Tile tile, tile_walk walk) const {
    if (c.valid == 0) return;
    auto const x = view.values(c.at);
    for (int n = walk.first_row; n < c.valid; n += walk.step) {
      int const offset = tile.position(n, walk.column);
      auto const w = tile.load(offset);
      std::uint32_t const row = Tile::keys::row(w);
      bits const value = Tile::keys::value(w, c.ascending);
      tile.store_value(
          offset,
          detail::key_loses<T>(value) ? detail::bit_cast<bits>(x[c.first_row + row]) : value, row);
    }
  }

  template <class Tile>
  SLICESORT_HD_INLINE void store(column_part const& c, Tile tile, tile_walk walk,
                                 bool restored) const {
    if (c.rows == 0) return;
    bool const whole = runs == 1;
    bool const values = !whole || view.needs_values();
    bool const perm = whole ? view.needs_rows() : out.rows != nullptr;
    for (int n = walk.first_row; n < c.valid; n += walk.step) {
      int const offset = tile.position(n, walk.column);
      auto const w = tile.load(offset);
      std::uint32_t const row = restored ? tile.row(offset) : Tile::keys::row(w);
      bits const value =
          restored ? tile.template value<bits>(offset) : Tile::keys::value(w, c.ascending);
      index_t const to = c.first_row + n;
      if (whole) {
        if (values) view.results(c.at)[to] = detail::bit_cast<T>(value);
        if (perm) view.numbers(c.at).set(to, row);
      } else {
        index_t const at = out.offset(c.number) + to;
        out.values[at] = detail::bit_cast<T>(value);
        if (perm) out.rows[at] = static_cast<std::uint32_t>(c.first_row) + row;
      }
    }
    copy_tail(c, walk);
  }

  // Rows past the sample's length stay where they are.
  SLICESORT_HD_INLINE void copy_tail(column_part const& c, tile_walk walk) const {
    for (int n = c.valid + walk.first_row; n < c.rows; n += walk.step) {
      index_t const row = c.first_row + n;
      if (view.needs_values()) view.results(c.at)[row] = view.values(c.at)[row];
      if (view.needs_rows()) view.numbers(c.at).set(row, static_cast<std::uint32_t>(row));
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
