// SPDX-License-Identifier: Apache-2.0
// Sorts columns that fit in shared memory. A block loads a tile of neighboring columns, sorts it
// and stores it. A launch has one of four modes:
//
//   plain          one block sorts a column, which is a single run
//   runs           longer columns are split into runs, which are sorted into the workspace
//   merges_halves  each of the two blocks of a cluster sorts half of a column; then they merge
//   shared tile    `blocks_per_tile` blocks of a cluster share a tile, so that its rows fill whole
//                  sectors of memory: each block loads and stores some rows of all columns, and
//                  sorts some of the columns
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

// log2 of the number of packed keys that a thread holds in registers: 5, or 4 if 32 keys need too
// many registers.
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
  index_t first_column, columns;  // columns of this launch, among those of all samples
  int width = 1;                  // columns per block, a power of two
  int run_rows = 0;               // rows per run: a multiple of 32 if runs > 1
  int runs = 1;                   // runs per column
  bool merges_halves = false;     // requires runs == 2, width == 1
  int blocks_per_tile = 1;  // blocks of a cluster that share a tile of `blocks_per_tile * width`
                            // columns: a power of two, 1 if runs > 1
  index_t tiles = 1;
  sorted_runs<T> run_output{};  // output if runs > 1 and not merges_halves

  // Has room for every choice of keys and levels: all packed keys have the same size, and 4 levels
  // insert the most free rows.
  using tile_type = key_tile<packed_key<T, false>, 4>;
  struct shared_buffers {
    tile_type tile;
    std::uint32_t* lossy;  // [blocks_per_tile]: nonzero if a block loaded lossy keys
  };
  template <class SharedAllocator>
  SLICESORT_HD_INLINE shared_buffers shared(SharedAllocator& allocator) const {
    shared_buffers buffers{tile_type::allocate(allocator, run_rows, width), nullptr};
    if (blocks_per_tile > 1)
      buffers.lossy =
          allocator.template allocate<std::uint32_t>(static_cast<std::size_t>(blocks_per_tile));
    return buffers;
  }
  // Columns per block, or per cluster if its blocks share a tile.
  SLICESORT_HD_INLINE int tile_columns() const { return width * blocks_per_tile; }
  index_t blocks() const { return tiles * runs * blocks_per_tile; }
  SLICESORT_HD_INLINE int cluster_size() const { return merges_halves ? 2 : blocks_per_tile; }

  template <class Block>
  SLICESORT_HD_INLINE void operator()(Block& block) const {
    shared_buffers const buffers = shared(block);
    using keys = packed_key<T, Block::fast_double>;
    key_tile<keys, tile_levels<Block, T>> const tile{buffers.tile.high, buffers.tile.low,
                                                     buffers.tile.pitch};
    bool lossy = blocks_per_tile > 1 ? load_across_cluster(block, tile, buffers.lossy)
                                     : load(block, tile, rows_of_thread(block));

    // Sorts the columns in the shared memory of this block.
    int const first_column_of_block = blocks_per_tile > 1 ? block.cluster_rank() * width : 0;
    column const sorted =
        column_of_tile(block, first_column_of_block + (block.rank() & (width - 1)));
    tile_network<keys, tile_levels<Block, T>, Block>(block, tile, width, sorted.valid_row_count)
        .sort(rows_in_run(sorted.first_row));

    if (blocks_per_tile > 1) {
      block.sync_cluster();
      for (int i = 0; i < blocks_per_tile; ++i) lossy |= buffers.lossy[i] != 0;
    }
    // Recomputed here, because the network needs all registers.
    thread_rows const rows = rows_of_thread(block);
    column const stored = column_of_tile(block, rows.column);
    if (lossy || merges_halves) {
      if (blocks_per_tile > 1)
        stored.restore(*this, tile_of_owner(block, tile), rows);
      else
        stored.restore(*this, tile, rows);
      if (cluster_size() > 1)
        block.sync_cluster();
      else
        block.sync();
    }
    if (merges_halves)
      merge_halves(block, tile, view, stored.column, stored.ascending, run_rows);
    else if (blocks_per_tile > 1)
      stored.store(*this, tile_of_owner(block, tile), rows, lossy);
    else
      stored.store(*this, tile, rows, lossy);
    stored.copy_tail(*this, rows);
    if (cluster_size() > 1)
      block.sync_cluster();  // other blocks may still read this block's memory
  }

 private:
  using column = run_column<View>;

  // Rows that the thread loads and stores, in memory order.
  template <class Block>
  SLICESORT_HD_INLINE thread_rows rows_of_thread(Block& block) const {
    thread_mapping const walk(Block::opaque(block.rank()), block.size(), tile_columns(),
                              view.rows_adjacent());
    thread_rows rows{walk.column, walk.first_row, walk.step, 0, run_rows};
    if (blocks_per_tile > 1) {
      int const rows_per_block = divide_up(run_rows, blocks_per_tile);
      rows.block_begin = block.cluster_rank() * rows_per_block;
      rows.block_end = rows.block_begin + rows_per_block;
    }
    return rows;
  }
  template <class Block>
  SLICESORT_HD_INLINE column column_of_tile(Block& block, int column_in_tile) const {
    // Neighboring blocks form a cluster or, without clusters, process neighboring tiles.
    index_t tile = block.index() >> log2_of(cluster_size()),
            run = merges_halves ? block.index() & 1 : 0;
    if (runs > 1 && !merges_halves) {
      run = tile / tiles;
      tile -= run * tiles;
    }
    return column(*this, tile * tile_columns() + column_in_tile, run * run_rows);
  }
  // Rows of the run, regardless of each column's valid rows.
  SLICESORT_HD_INLINE int rows_in_run(index_t first_row) const {
    index_t const remaining = view.length() - first_row;
    return static_cast<int>(remaining < run_rows ? remaining : run_rows);
  }
  // Tile in the shared memory of the block that owns the column of this thread.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE Tile tile_of_owner(Block& block, Tile tile) const {
    int const owner = rows_of_thread(block).column >> log2_of(width);
    Tile owned = tile;
    owned.high = block.map_shared_rank(tile.high, owner);
    if constexpr (Tile::keys::has_low) owned.low = block.map_shared_rank(tile.low, owner);
    return owned;
  }

  // Both functions end with a barrier and return true if some value that the block loads cannot be
  // decoded from its key. Blocks that share a tile exchange these flags.
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool load_across_cluster(Block& block, Tile tile,
                                               std::uint32_t* lossy) const {
    block.sync_cluster();  // other blocks may not have started yet
    bool const own_lossy = load(block, tile_of_owner(block, tile), rows_of_thread(block));
    if (block.rank() < blocks_per_tile)
      block.map_shared_rank(lossy, block.rank())[block.cluster_rank()] = own_lossy;
    block.sync_cluster();
    return own_lossy;
  }
  template <class Block, class Tile>
  SLICESORT_HD_INLINE bool load(Block& block, Tile tile, thread_rows rows) const {
    bool const lossy = column_of_tile(block, rows.column).template load<Block>(*this, tile, rows);
    if constexpr (has_lossy_keys<T>) return block.sync_or(lossy);
    block.sync();
    return false;
  }
};

SLICESORT_DETAIL_END
