// SPDX-License-Identifier: Apache-2.0
// Sorts every column of a tensor on the device. The length selects the algorithm:
//
//   rows                                     algorithm
//   up to 64 (16-bit types 128, 64-bit 32)   one column per thread, in registers
//   up to the capacity of shared memory      a network over a tile of columns in shared memory
//   up to twice that, with clusters          one half per block of a cluster, then one merge
//   beyond                                   runs sorted in shared memory, then pairwise merges
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/merge_runs.hpp>
#include <slicesort/detail/sort/device/sort_registers.hpp>
#include <slicesort/detail/sort/device/sort_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Algorithm and tile shape of one call.
struct sort_shape {
  int register_rows = 0;  // rows of the register network; 0 if not used
  int register_threads = 0;
  int width = 0, threads = 0;  // columns and threads per block
  int merge_threads = 0;
  index_t run_rows = 0, runs = 0;  // rows per run, runs per column
  bool merges_halves = false;  // true if each of the two blocks of a cluster sorts half of a column
  int blocks_per_tile = 1;     // blocks of a cluster that share a tile
  index_t chunk_columns = 0;   // columns whose runs the workspace holds; 0 without runs
};

template <class T>
std::size_t sort_tile_bytes(index_t rows, int width) {
  shared_counter counter;
  key_tile<packed_key<T, false>, 4>::allocate(counter, static_cast<int>(rows), width);
  return counter.bytes();
}

// Returns the length of the longest run that fits in shared memory and that the network can sort.
template <class T>
index_t longest_run(std::size_t shared_bytes) {
  index_t fitting = tile_row_multiple,
          too_large = (index_t{1} << max_tile_levels) + tile_row_multiple;
  while (too_large - fitting > tile_row_multiple) {
    index_t const middle = (fitting + too_large) / 2 / tile_row_multiple * tile_row_multiple;
    (sort_tile_bytes<T>(middle, 1) <= shared_bytes ? fitting : too_large) = middle;
  }
  return fitting;
}

inline constexpr int min_register_rows = 16;
template <class T>
inline constexpr int max_register_rows = sizeof(T) == 2   ? 128
                                         : sizeof(T) == 4 ? 64
                                                          : 32;

// Chooses how many blocks of a cluster share a tile, so that its rows cover at least half a 32-byte
// sector; at most 4. Larger clusters would leave multiprocessors idle, and wider rows would save
// less than the exchange between blocks costs.
template <class T>
int choose_blocks_per_tile(sort_shape const& shape, index_t columns, std::size_t shared_bytes) {
  constexpr int half_sector_elements = 16 / static_cast<int>(sizeof(T)), max_blocks = 4;
  if (sort_tile_bytes<T>(shape.run_rows, shape.width) + shared_slice(max_blocks * sizeof(int)) >
      shared_bytes)
    return 1;
  int blocks_per_tile = 1;
  while (blocks_per_tile < max_blocks &&
         blocks_per_tile * shape.width < std::min<index_t>(half_sector_elements, columns) &&
         2 * blocks_per_tile * shape.width <= shape.threads)
    blocks_per_tile *= 2;
  return blocks_per_tile;
}

template <class T, class Grid>
sort_shape choose_sort_shape(Grid const& grid, extents3 extents) {
  device_info const device = grid.info();
  sort_tuning const tuning = sort_tuning_of<T>(grid);
  sort_shape shape;
  if (extents.length <= std::min<index_t>(tuning.register_rows, max_register_rows<T>)) {
    shape.register_rows =
        static_cast<int>(std::max<index_t>(min_register_rows, bit_ceil(extents.length)));
    shape.register_threads = tuning.register_threads;
    return shape;
  }

  index_t const max_run_rows =
      std::clamp<index_t>(tuning.run_rows, tile_row_multiple, longest_run<T>(device.shared_bytes));
  shape.runs = divide_up(extents.length, max_run_rows);
  shape.run_rows =
      shape.runs == 1
          ? extents.length
          : divide_up(divide_up(extents.length, shape.runs), tile_row_multiple) * tile_row_multiple;
  shape.runs = divide_up(extents.length, shape.run_rows);

  shape.merges_halves = shape.runs == 2 && tuning.clusters && grid.clusters();

  // Doubles the width while the tile fits, up to the tuned number of columns. Short columns use
  // wider tiles, so that four warps have work.
  auto const tile_fits = [&](int width) {
    return width <= (shape.merges_halves ? 1 : 32) &&
           sort_tile_bytes<T>(shape.run_rows, width) <= tuning.tile_bytes;
  };
  index_t const groups_per_column = divide_up(shape.run_rows, tile_row_multiple);
  shape.width = 1;
  while (shape.width < extents.batch * extents.channels && tile_fits(2 * shape.width) &&
         (shape.width < tuning.tile_columns || shape.width * groups_per_column < 128))
    shape.width *= 2;
  // Blocks that share a multiprocessor share its registers.
  auto const resident_blocks = static_cast<int>(std::clamp<std::size_t>(
      device.shared_bytes / sort_tile_bytes<T>(shape.run_rows, shape.width), 1, 4));
  index_t const max_threads =
      std::max<index_t>(32, bit_floor(tuning.tile_threads / resident_blocks));
  shape.threads = static_cast<int>(
      std::clamp<index_t>(bit_ceil(shape.width * groups_per_column), 32, max_threads));
  if (shape.runs == 1 && tuning.clusters && grid.clusters())
    shape.blocks_per_tile =
        choose_blocks_per_tile<T>(shape, extents.batch * extents.channels, device.shared_bytes);
  if (shape.runs == 1 || shape.merges_halves) return shape;
  // Limits only small devices and tests, because every GPU has 48 KiB.
  index_t const max_merge_threads =
      static_cast<index_t>(device.shared_bytes / (sizeof(T) + 4)) / merge_items_per_thread;
  shape.merge_threads =
      clamped_bit_floor(std::min<index_t>(tuning.merge_threads, max_merge_threads), 32, 512);
  shape.chunk_columns = std::clamp<index_t>(grid_tuning_of<T>(grid).chunk_elements / extents.length,
                                            1, extents.batch * extents.channels);
  return shape;
}

// Workspace: buffers for the sorted runs of long columns and for merged runs.
template <class T>
struct sort_layout {
  sort_shape shape;
  T* values[2] = {};
  std::uint32_t* rows[2] = {};

  sort_layout() = default;
  template <class Grid>
  sort_layout(arena& memory, Grid const& grid, extents3 extents) {
    if (extents.empty()) return;
    shape = choose_sort_shape<T>(grid, extents);
    auto const elements = static_cast<std::size_t>(shape.chunk_columns * extents.length);
    int const buffers = shape.chunk_columns == 0 ? 0 : shape.runs > 2 ? 2 : 1;
    for (int i = 0; i < buffers; ++i) {
      values[i] = memory.take<T>(elements);
      rows[i] = memory.take<std::uint32_t>(elements);
    }
  }
  template <class View>
  sorted_runs<T> buffer_runs(View const& view, int buffer) const {
    return {values[buffer], view.needs_rows() ? rows[buffer] : nullptr, view.length()};
  }
};

template <int Rows, class Grid, class View>
void sort_in_registers(Grid const& grid, View const& view, sort_shape const& shape) {
  if constexpr (Rows <= max_register_rows<typename View::element>) {
    if (shape.register_rows > Rows) return sort_in_registers<2 * Rows>(grid, view, shape);
    grid.run(sort_registers_kernel<View, Rows>{view},
             divide_up(view.columns(), shape.register_threads), shape.register_threads);
  }
}

template <class View>
sort_tile_kernel<View> make_sort_tile_kernel(View const& view,
                                             sort_layout<typename View::element> const& layout,
                                             index_t first_column, index_t columns) {
  sort_shape const& shape = layout.shape;
  sort_tile_kernel<View> tile{view, first_column, columns};
  tile.width = shape.width;
  tile.run_rows = static_cast<int>(shape.run_rows);
  tile.runs = static_cast<int>(shape.runs);
  tile.merges_halves = shape.merges_halves;
  tile.blocks_per_tile = shape.blocks_per_tile;
  tile.tiles = divide_up(columns, tile.tile_columns());
  tile.run_output = layout.buffer_runs(view, 0);
  return tile;
}

template <class Grid, class View>
void merge_columns(Grid const& grid, View const& view,
                   sort_layout<typename View::element> const& layout, index_t first_column,
                   index_t columns) {
  sort_shape const& shape = layout.shape;
  int input = 0;
  for (index_t run = shape.run_rows; run < view.length(); run *= 2, input = 1 - input) {
    merge_runs_kernel<View> merge{view, first_column, columns};
    merge.run_rows = run;
    merge.input = layout.buffer_runs(view, input);
    merge.output = layout.buffer_runs(view, 1 - input);
    merge.is_last = 2 * run >= view.length();
    merge.threads = shape.merge_threads;
    grid.run(merge, merge.blocks(), shape.merge_threads);
  }
}

template <class Grid, class View>
void sort_columns(Grid const& grid, View const& view,
                  sort_layout<typename View::element> const& layout) {
  if (view.x.extents().empty()) return;
  sort_shape const& shape = layout.shape;
  if constexpr (View::in_registers)
    if (shape.register_rows != 0) return sort_in_registers<min_register_rows>(grid, view, shape);
  index_t const columns = view.columns();
  index_t const chunk = shape.chunk_columns == 0 ? columns : shape.chunk_columns;
  for (index_t first = 0; first < columns; first += chunk) {
    index_t const count = std::min(chunk, columns - first);
    sort_tile_kernel<View> const tile = make_sort_tile_kernel(view, layout, first, count);
    grid.run(tile, tile.blocks(), shape.threads, tile.cluster_size());
    if (!shape.merges_halves) merge_columns(grid, view, layout, first, count);
  }
}

SLICESORT_DETAIL_END
