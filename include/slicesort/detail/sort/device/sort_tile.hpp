// SPDX-License-Identifier: Apache-2.0
// Columns that fit in shared memory: a block takes a tile of neighboring columns, sorts it there
// and writes it out. Longer columns are cut into runs, which are sorted the same way into the
// workspace; or, where there are two, by the two blocks of a cluster, which then merge their
// halves.
//
// A row of a tile should be a whole sector of memory. Where that many columns do not fit, the
// blocks of a cluster share a wide tile: each loads and stores some rows of all columns, and sorts
// its own columns.
#pragma once

#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/key_tile.hpp>
#include <slicesort/detail/sort/device/merge_pair.hpp>
#include <slicesort/detail/sort/device/row_words.hpp>
#include <slicesort/detail/sort/device/tile_network.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// A thread holds 2^5 packed keys in registers, or 2^4 where that would be too many.
template <class Block, class T>
inline constexpr int tile_levels = sizeof(T) == 2 || (sizeof(T) == 4 && Block::big_register_file &&
                                                      !std::is_same_v<T, raw_key32>)
                                       ? 5
                                       : 4;

template <class View>
struct sort_tile_body {
  static constexpr int max_threads = 512;
  // Rows that a thread has under way. With more, 16-bit types would take over 64 registers.
  static constexpr int at_once = 4;
  using T = typename View::element;

  View view;
  index_t first_column, columns;  // of all samples' columns, those sorted by this launch
  int width = 1;                  // columns of a block, a power of two
  int run_rows = 0;               // rows that are sorted at once: a multiple of 32 where runs > 1
  int runs = 1;                   // of a column
  bool paired = false;            // two runs, of two blocks in a cluster, one column wide
  int sharing = 1;                // blocks in a cluster that share a tile of so many times `width`
                                  // columns: a power of two; where runs == 1
  index_t tiles = 1;              // of one run: so many have all columns
  sorted_runs<T> out{};           // where runs > 1 and not paired

  // Every kind of packed key takes the same memory; 4 levels leave the largest number of rows free.
  using tile_type = key_tile<packed_key<T, false>, 4>;
  struct memory {
    tile_type tile;
    std::uint32_t* lossy;  // [sharing]: of every block, if they share, whether its rows were lossy
  };
  template <class SharedAllocator>
  SLICESORT_HD_INLINE memory shared(SharedAllocator& shared_memory) const {
    memory m{tile_type::allocate(shared_memory, run_rows, width), nullptr};
    if (sharing > 1)
      m.lossy = shared_memory.template allocate<std::uint32_t>(static_cast<std::size_t>(sharing));
    return m;
  }
  // Columns of a block, or of a cluster that shares.
  SLICESORT_HD_INLINE int tile_columns() const { return width * sharing; }
  index_t blocks() const { return tiles * runs * sharing; }
  SLICESORT_HD_INLINE int cluster() const { return paired ? 2 : sharing; }

  template <class Block>
  SLICESORT_HD_INLINE void operator()(Block& block) const {
    memory const m = shared(block);
    key_tile<packed_key<T, Block::fast_double>, tile_levels<Block, T>> const tile{
        m.tile.high, m.tile.low, m.tile.pitch};
    // The network is in one place, for it is most of the code.
    bool lossy =
        sharing > 1 ? load_shared(block, tile, m.lossy) : load(block, tile, walk_of(block));
    sort(block, tile);
    if (sharing > 1) {
      block.sync_cluster();
      for (int i = 0; i < sharing; ++i) lossy |= m.lossy[i] != 0;
    }
    // Computed anew, for the network needs all registers.
    tile_walk const walk = walk_of(block);
    column_part const c = part_of(block, walk.column);
    if (lossy || paired) {
      if (sharing > 1)
        restore(c, of_owner(block, tile), walk);
      else
        restore(c, tile, walk);
      if (cluster() > 1)
        block.sync_cluster();
      else
        block.sync();
    }
    if (paired) {
      merge_pair(block, tile, view, c.at, c.ascending, run_rows);
    } else if (sharing > 1) {
      store(c, of_owner(block, tile), walk, lossy);
    } else {
      store(c, tile, walk, lossy);
    }
    copy_tail(c, walk);
    if (cluster() > 1) block.sync_cluster();  // others may still read this block's memory
  }

 private:
  using bits = bits_t<T>;

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

  // A thread's way through the rows that its block loads and stores. It stays in one column.
  struct tile_walk {
    int column;       // of the tile, or of the one that blocks share
    int first, step;  // rows
    int from, to;     // the block's rows

    SLICESORT_HD_INLINE row_range rows(int begin, int end) const {
      return {(begin < from ? from : begin) + first, step, end < to ? end : to};
    }
  };
  // Loads and stores follow memory; the network does not care.
  template <class Block>
  SLICESORT_HD_INLINE tile_walk walk_of(Block& block) const {
    detail::tile_walk const all(Block::opaque(block.rank()), block.size(), tile_columns(),
                                view.rows_adjacent());
    tile_walk walk{all.column, all.first_row, all.step, 0, run_rows};
    if (sharing > 1) {
      int const share = divide_up(run_rows, sharing);
      walk.from = block.cluster_rank() * share;
      walk.to = walk.from + share;
    }
    return walk;
  }

  // The blocks of a cluster that share a tile load some rows each, and say whether any was lossy.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool load_shared(Block& block, Tile tile, std::uint32_t* lossy) const {
    block.sync_cluster();  // before this the others need not have begun
    bool const mine = load(block, of_owner(block, tile), walk_of(block));
    if (block.rank() < sharing)
      block.map_shared_rank(lossy, block.rank())[block.cluster_rank()] = mine;
    block.sync_cluster();
    return mine;
  }
  // The tile that has the column of this thread's walk, among those of the blocks that share.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE Tile of_owner(Block& block, Tile mine) const {
    int const owner = walk_of(block).column >> log2_of(width);
    Tile tile = mine;
    tile.high = block.map_shared_rank(mine.high, owner);
    if constexpr (Tile::keys::has_low) tile.low = block.map_shared_rank(mine.low, owner);
    return tile;
  }

  // Sorts the columns that lie in this block.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE void sort(Block& block, Tile tile) const {
    int const first = sharing > 1 ? block.cluster_rank() * width : 0;
    column_part const c = part_of(block, first + (block.rank() & (width - 1)));
    tile_network<typename Tile::keys, tile_levels<Block, T>, Block>(block, tile, width, c.valid)
        .sort(rows_from(c.first_row));
  }
  template <class Block>
  SLICESORT_HD_INLINE auto part_of(Block& block, int column_of_tile) const {
    // Blocks of a cluster are neighbors; else those of neighboring tiles are.
    index_t tile = block.index() >> log2_of(cluster()), run = paired ? block.index() & 1 : 0;
    if (runs > 1 && !paired) {
      run = tile / tiles;
      tile -= run * tiles;
    }
    return column_part(*this, tile * tile_columns() + column_of_tile, run * run_rows);
  }

  // Rows of a run, wherever its columns end.
  SLICESORT_HD_INLINE int rows_from(index_t first_row) const {
    index_t const left = view.length() - first_row;
    return static_cast<int>(left < run_rows ? left : run_rows);
  }

  // Ends with a barrier. Whether any value that the block loads cannot be told from its key.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool load(Block& block, Tile tile, tile_walk walk) const {
    bool const lossy = load<Block>(part_of(block, walk.column), tile, walk);
    if constexpr (has_lossy_keys<T>) return block.any(lossy);
    block.sync();
    return false;
  }
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool load(column_part const& c, Tile tile, tile_walk walk) const {
    row_range const rows = walk.rows(0, c.valid);
    if (rows.first >= rows.end) return false;
    auto x = view.values(c.at).walk(c.first_row, rows);
    int const column = walk.column & (width - 1);
    bool lossy = false;
    copy_rows<at_once>(
        rows, [&](int) { return bit_cast<bits>(x.next()); },
        [&](int n, bits value) {
          lossy |= key_alters<T>(value);
          tile.store(tile.position(n, column),
                     key_of<Block, Tile>(value, c.ascending, static_cast<std::uint32_t>(n)));
        });
    return lossy;
  }

  // Keys of 16 bits are made in the block's own way, which is quicker.
  template <class Block, class Tile>
  static SLICESORT_HD_INLINE auto key_of(bits value, bool ascending, std::uint32_t row) {
    if constexpr (sizeof(T) == 2)
      return row_words<T, 65536>::template make<Block>(value, ascending ? 0u : ~0u, row);
    else
      return Tile::keys::make(value, ascending, row);
  }

  // Replaces keys by values, so that x, which may be y, is not read any more once y is written.
  template <class Tile>
  SLICESORT_HD_INLINE void restore(column_part const& c, Tile tile, tile_walk walk) const {
    row_range const rows = walk.rows(0, c.valid);
    if (rows.first >= rows.end) return;
    auto const x = view.values(c.at);
    int const column = walk.column & (width - 1);
    for (int n = rows.first; n < rows.end; n += rows.step) {
      int const offset = tile.position(n, column);
      auto const w = tile.load(offset);
      std::uint32_t const row = Tile::keys::row(w);
      bits const value = Tile::keys::value(w, c.ascending);
      tile.store_value(offset, key_loses<T>(value) ? bit_cast<bits>(x[c.first_row + row]) : value,
                       row);
    }
  }

  template <class Tile>
  SLICESORT_HD_INLINE void store(column_part const& c, Tile tile, tile_walk walk,
                                 bool restored) const {
    if (c.rows == 0) return;
    int const column = walk.column & (width - 1);
    auto const row = [&](int n) {
      int const at = tile.position(n, column);
      return restored ? tile.row(at) : Tile::keys::row(tile.load(at));
    };
    auto const value = [&](int n) {
      int const at = tile.position(n, column);
      return bit_cast<T>(restored ? tile.template value<bits>(at)
                                  : Tile::keys::value(tile.load(at), c.ascending));
    };
    row_range const rows = walk.rows(0, c.valid);
    if (runs > 1) {
      index_t const at = out.offset(c.number) + c.first_row;
      auto const start = static_cast<std::uint32_t>(c.first_row);
      T* const values = out.values + at;
      copy_rows<at_once>(rows, value, [&](int n, T number) { values[n] = number; });
      std::uint32_t* const sources = out.rows + at;
      if (out.rows != nullptr)
        copy_rows<at_once>(rows, row,
                           [&](int n, std::uint32_t from) { sources[n] = start + from; });
      return;
    }
    if (view.needs_values() && rows.first < rows.end) {
      auto y = view.results(c.at).walk(0, rows);
      copy_rows<at_once>(rows, value, [&](int, T number) { y.next() = number; });
    }
    if (view.needs_rows()) view.numbers(c.at).template set_rows<at_once>(0, rows, row);
  }

  // Rows past the sample's length stay where they are.
  SLICESORT_HD_INLINE void copy_tail(column_part const& c, tile_walk walk) const {
    row_range const rows = walk.rows(c.valid, c.rows);
    for (int n = rows.first; n < rows.end; n += rows.step) {
      index_t const row = c.first_row + n;
      if (view.needs_values()) view.results(c.at)[row] = view.values(c.at)[row];
      if (view.needs_rows()) view.numbers(c.at).set(row, static_cast<std::uint32_t>(row));
    }
  }
};

SLICESORT_DETAIL_END
