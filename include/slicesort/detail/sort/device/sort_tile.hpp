// SPDX-License-Identifier: Apache-2.0
// Columns that fit in shared memory: a block takes a tile of neighboring columns, sorts it there,
// and stores it. A launch has one of four modes:
//
//   plain    a run is a whole column, which a block sorts by itself
//   runs     longer columns are cut into runs, which are sorted likewise into the workspace
//   paired   a column is two runs, of the two blocks of a cluster, which then merge their halves
//   sharing  the blocks of a cluster share a tile, so that its rows are whole sectors of memory:
//            each loads and stores some rows of all columns, and sorts columns of its own
#pragma once

#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/key_tile.hpp>
#include <slicesort/detail/sort/device/merge_pair.hpp>
#include <slicesort/detail/sort/device/run_column.hpp>
#include <slicesort/detail/sort/device/tile_network.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
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
struct sort_tile_kernel {
  static constexpr int max_threads = 512;
  using T = typename View::element;

  View view;
  index_t first_column, columns;  // those that this launch sorts, of all samples' columns
  int width = 1;                  // columns of a block, a power of two
  int run_rows = 0;               // rows that are sorted at once: a multiple of 32 where runs > 1
  int runs = 1;                   // of a column
  bool paired = false;            // runs == 2, width == 1
  int sharing = 1;                // blocks in a cluster that share a tile of so many times `width`
                                  // columns: a power of two; where runs == 1
  index_t tiles = 1;              // of one run: so many have all columns
  sorted_runs<T> out{};           // where runs > 1 and not paired

  // Every kind of packed key takes the same memory; 4 levels leave the largest number of rows free.
  using tile_type = key_tile<packed_key<T, false>, 4>;
  struct memory {
    tile_type tile;
    std::uint32_t* lossy;  // [sharing]: of every block, if they share, true if its rows were lossy
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
    using keys = packed_key<T, Block::fast_double>;
    key_tile<keys, tile_levels<Block, T>> const tile{m.tile.high, m.tile.low, m.tile.pitch};
    bool lossy =
        sharing > 1 ? load_shared(block, tile, m.lossy) : load(block, tile, rows_of_thread(block));

    // The columns that lie in this block.
    int const first = sharing > 1 ? block.cluster_rank() * width : 0;
    column const sorted = column_of_tile(block, first + (block.rank() & (width - 1)));
    tile_network<keys, tile_levels<Block, T>, Block>(block, tile, width, sorted.valid)
        .sort(rows_from(sorted.first_row));

    if (sharing > 1) {
      block.sync_cluster();
      for (int i = 0; i < sharing; ++i) lossy |= m.lossy[i] != 0;
    }
    // Computed anew, for the network needs all registers.
    thread_rows const walk = rows_of_thread(block);
    column const c = column_of_tile(block, walk.column);
    if (lossy || paired) {
      if (sharing > 1)
        c.restore(*this, tile_of_owner(block, tile), walk);
      else
        c.restore(*this, tile, walk);
      if (cluster() > 1)
        block.sync_cluster();
      else
        block.sync();
    }
    if (paired)
      merge_pair(block, tile, view, c.at, c.ascending, run_rows);
    else if (sharing > 1)
      c.store(*this, tile_of_owner(block, tile), walk, lossy);
    else
      c.store(*this, tile, walk, lossy);
    c.copy_tail(*this, walk);
    if (cluster() > 1) block.sync_cluster();  // others may still read this block's memory
  }

 private:
  using column = run_column<View>;

  // Loads and stores follow memory; the network does not care.
  template <class Block>
  SLICESORT_HD_INLINE thread_rows rows_of_thread(Block& block) const {
    tile_walk const order(Block::opaque(block.rank()), block.size(), tile_columns(),
                          view.rows_adjacent());
    thread_rows walk{order.column, order.first_row, order.step, 0, run_rows};
    if (sharing > 1) {
      int const share = divide_up(run_rows, sharing);
      walk.from = block.cluster_rank() * share;
      walk.to = walk.from + share;
    }
    return walk;
  }
  template <class Block>
  SLICESORT_HD_INLINE column column_of_tile(Block& block, int number) const {
    // Blocks of a cluster are neighbors; else those of neighboring tiles are.
    index_t tile = block.index() >> log2_of(cluster()), run = paired ? block.index() & 1 : 0;
    if (runs > 1 && !paired) {
      run = tile / tiles;
      tile -= run * tiles;
    }
    return column(*this, tile * tile_columns() + number, run * run_rows);
  }
  // Rows of a run, wherever its columns end.
  SLICESORT_HD_INLINE int rows_from(index_t first_row) const {
    index_t const below = view.length() - first_row;
    return static_cast<int>(below < run_rows ? below : run_rows);
  }
  // The tile that has the column of this thread, among those of the blocks that share.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE Tile tile_of_owner(Block& block, Tile tile) const {
    int const owner = rows_of_thread(block).column >> log2_of(width);
    Tile owned = tile;
    owned.high = block.map_shared_rank(tile.high, owner);
    if constexpr (Tile::keys::has_low) owned.low = block.map_shared_rank(tile.low, owner);
    return owned;
  }

  // Both end with a barrier, and return true if some value that the block loads cannot be told from
  // its key; blocks that share tell each other.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool load_shared(Block& block, Tile tile, std::uint32_t* lossy) const {
    block.sync_cluster();  // before this the others need not have begun
    bool const own_lossy = load(block, tile_of_owner(block, tile), rows_of_thread(block));
    if (block.rank() < sharing)
      block.map_shared_rank(lossy, block.rank())[block.cluster_rank()] = own_lossy;
    block.sync_cluster();
    return own_lossy;
  }
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool load(Block& block, Tile tile, thread_rows walk) const {
    bool const lossy = column_of_tile(block, walk.column).template load<Block>(*this, tile, walk);
    if constexpr (has_lossy_keys<T>) return block.sync_or(lossy);
    block.sync();
    return false;
  }
};

SLICESORT_DETAIL_END
