// SPDX-License-Identifier: Apache-2.0
// Columns that fit in shared memory: a block takes a tile of neighboring columns, sorts it there and
// writes it out. Longer columns are cut into runs; each is sorted alike, into the workspace, or, if
// there are two, by the two blocks of a cluster, which then merge what they have.
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
  std::uint32_t* rows = nullptr;  // null: not wanted
  index_t length = 0;

  SLICESORT_HD index_t offset(index_t column) const { return column * length; }
};

// Columns of a tile are taken in units of the rows that one thread holds, 32 or 16.
inline constexpr int tile_unit = 32;

// Threads hold 32 words in registers, or 16 where that would be too much.
template <class Block, class T>
inline constexpr int tile_levels = sizeof(T) == 2 || (sizeof(T) == 4 && Block::big_register_file &&
                                                      !std::is_same_v<T, detail::raw_key32>)
                                       ? 5
                                       : 4;

template <class Job>
struct sort_tile_body {
  static constexpr int max_threads = 512;
  using T = typename Job::element;

  Job job;
  index_t first_column, columns;  // of all samples' columns, those sorted by this launch
  int width;                      // columns of a tile, a power of two
  int run_rows;                   // rows that are sorted at once: a multiple of 32 where runs > 1
  int runs;                       // of a column
  bool paired;                    // two runs, of two blocks in a cluster, one column wide
  sorted_runs<T> out;             // where runs > 1 and not paired

  template <class SharedAllocator>
  SLICESORT_HD_INLINE auto shared(SharedAllocator& shared_memory) const {
    // Every kind of word takes the same memory; with 4 levels the most rows are left free.
    return key_tile<detail::packed_key<T, false>, 4>::take(shared_memory, run_rows, width);
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
      merge_pair(block, tile, job, c.at, c.ascending, run_rows);
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
    bool const lossy = block.any(load(part_of(block, walk_of(block).column), tile, walk_of(block)));
    column_part const c = part_of(block, block.rank() % width);
    tile_network<typename Tile::words, tile_levels<Block, T>, Block>(block, tile, c.valid)
        .sort(rows_from(c.first_row));
    return lossy;
  }

  // Loads and stores follow memory; the network does not care.
  template <class Block>
  SLICESORT_HD_INLINE tile_walk walk_of(Block& block) const {
    return {Block::opaque(block.rank()), block.size(), width, job.rows_adjacent()};
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
    index_t const left = job.length() - first_row;
    return static_cast<int>(left < run_rows ? left : run_rows);
  }

  // The rows of one run in one column.
  struct column_part {
    index_t number, first_row;  // column of the launch
    typename Job::place at{};
    int rows = 0, valid = 0;
    bool ascending = true;

    SLICESORT_HD_INLINE column_part(sort_tile_body const& body, index_t column, index_t row)
        : number(column), first_row(row) {
      if (column >= body.columns) return;  // a tile may be wider than what is left
      at = body.job.locate(body.first_column + column);
      ascending = body.job.ascending(at);
      index_t const here = body.job.rows(at) - row, left = body.job.valid(at) - row;
      rows = static_cast<int>(here < 0 ? 0 : here < body.run_rows ? here : body.run_rows);
      valid = static_cast<int>(left < 0 ? 0 : left < rows ? left : rows);
    }
  };

  // Whether any value cannot be told from its key.
  template <class Tile>
  SLICESORT_HD_INLINE bool load(column_part const& c, Tile tile, tile_walk walk) const {
    if (c.valid == 0) return false;
    auto const x = job.values(c.at);
    bool lossy = false;
    SLICESORT_UNROLL_4
    for (int n = walk.first_row; n < c.valid; n += walk.step) {
      bits const value = detail::bit_cast<bits>(x[c.first_row + n]);
      lossy |= detail::key_alters<T>(value);
      tile.store(tile.position(n, walk.column),
                 Tile::words::make(value, c.ascending, static_cast<std::uint32_t>(n)));
    }
    return lossy;
  }

  // Puts values in the place of keys, so that x need not be read once y, which may be x, is written.
  template <class Tile>
  SLICESORT_HD_INLINE void restore(column_part const& c, Tile tile, tile_walk walk) const {
    if (c.valid == 0) return;
    auto const x = job.values(c.at);
    for (int n = walk.first_row; n < c.valid; n += walk.step) {
      int const place = tile.position(n, walk.column);
      auto const w = tile.load(place);
      std::uint32_t const row = Tile::words::row(w);
      bits const value = Tile::words::value(w, c.ascending);
      tile.store_value(
          place, detail::key_loses<T>(value) ? detail::bit_cast<bits>(x[c.first_row + row]) : value,
          row);
    }
  }

  template <class Tile>
  SLICESORT_HD_INLINE void store(column_part const& c, Tile tile, tile_walk walk,
                                 bool restored) const {
    if (c.rows == 0) return;
    bool const whole = runs == 1;
    bool const values = !whole || job.needs_values();
    bool const perm = whole ? job.needs_rows() : out.rows != nullptr;
    for (int n = walk.first_row; n < c.valid; n += walk.step) {
      int const place = tile.position(n, walk.column);
      auto const w = tile.load(place);
      std::uint32_t const row = restored ? tile.row(place) : Tile::words::row(w);
      bits const value =
          restored ? tile.template value<bits>(place) : Tile::words::value(w, c.ascending);
      index_t const to = c.first_row + n;
      if (whole) {
        if (values) job.results(c.at)[to] = detail::bit_cast<T>(value);
        if (perm) job.numbers(c.at).set(to, row);
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
      if (job.needs_values()) job.results(c.at)[row] = job.values(c.at)[row];
      if (job.needs_rows()) job.numbers(c.at).set(row, static_cast<std::uint32_t>(row));
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
