// SPDX-License-Identifier: Apache-2.0
// Sorting every column of a tensor on a grid: one algorithm per length, chosen here.
//
//   rows                                     kernels
//   up to 64 (16-bit types 128, 64-bit 32)   a column in the registers of one thread
//   up to what shared memory holds           a network over a tile of columns in shared memory
//   up to twice that, with clusters          the same in two blocks, which then merge their halves
//   beyond                                   the same on runs, then merges of two runs at a time
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

// How the columns of one call are sorted.
struct sort_shape {
  int register_rows = 0;  // not 0: in registers, with networks of this size
  int register_threads = 0;
  int width = 0, threads = 0, merge_threads = 0;
  index_t run_rows = 0, runs = 0;
  bool cluster = false;       // the two runs of a column are sorted by the two blocks of a cluster
  int sharing = 1;            // blocks of a cluster that share a tile
  index_t chunk_columns = 0;  // columns whose runs the workspace holds at once, if any
};

// Shared memory of a tile.
template <class T>
std::size_t sort_tile_bytes(index_t rows, int width) {
  shared_counter counter;
  key_tile<packed_key<T, false>, 4>::allocate(counter, static_cast<int>(rows), width);
  return counter.bytes();
}

// The longest run of one column that fits in shared memory, and that the network can sort.
template <class T>
index_t longest_run(std::size_t shared) {
  index_t fits = tile_unit, large = (index_t{1} << max_tile_levels) + tile_unit;
  while (large - fits > tile_unit) {
    index_t const middle = (fits + large) / 2 / tile_unit * tile_unit;
    (sort_tile_bytes<T>(middle, 1) <= shared ? fits : large) = middle;
  }
  return fits;
}

// Networks in registers have 16 rows, or 2, 4, .. times as many.
inline constexpr int smallest_network = 16;
template <class T>
inline constexpr int max_register_rows = sizeof(T) == 2   ? 128
                                         : sizeof(T) == 4 ? 64
                                                          : 32;

// How many blocks share a tile, so that its rows are longer: up to 4 where rows are shorter than
// half a sector of memory. Larger clusters would leave more multiprocessors idle, and longer rows
// would save less than what passes between the blocks.
template <class T>
int sharing_of_tile(sort_shape const& s, index_t columns, std::size_t shared_bytes) {
  constexpr int half_sector = 16 / static_cast<int>(sizeof(T)), most = 4;
  if (sort_tile_bytes<T>(s.run_rows, s.width) + shared_slice(most * sizeof(int)) > shared_bytes)
    return 1;
  int sharing = 1;
  while (sharing < most && sharing * s.width < std::min<index_t>(half_sector, columns) &&
         2 * sharing * s.width <= s.threads)
    sharing *= 2;
  return sharing;
}

template <class T, class Grid>
sort_shape shape_of_sort(Grid const& grid, extents3 e) {
  device_info const device = grid.info();
  sort_tuning const t = sort_tuning_of<T>(grid);
  sort_shape s;
  if (e.length <= std::min<index_t>(t.register_rows, max_register_rows<T>)) {
    s.register_rows =
        static_cast<int>(std::max<index_t>(smallest_network, power_of_two_above(e.length)));
    s.register_threads = t.register_threads;
    return s;
  }

  index_t const limit =
      std::clamp<index_t>(t.run_rows, tile_unit, longest_run<T>(device.shared_bytes));
  s.runs = divide_up(e.length, limit);
  s.run_rows =
      s.runs == 1 ? e.length : divide_up(divide_up(e.length, s.runs), tile_unit) * tile_unit;
  s.runs = divide_up(e.length, s.run_rows);

  s.cluster = s.runs == 2 && t.clusters && grid.clusters();

  // As many columns as the tuning asks for and as fit; more if they are short, so that four warps
  // have work.
  auto const fits = [&](int width) {
    return width <= (s.cluster ? 1 : 32) && sort_tile_bytes<T>(s.run_rows, width) <= t.tile_bytes;
  };
  index_t const groups = divide_up(s.run_rows, tile_unit);
  s.width = 1;
  while (s.width < e.batch * e.channels && fits(2 * s.width) &&
         (s.width < t.tile_columns || s.width * groups < 128))
    s.width *= 2;
  s.threads = static_cast<int>(
      std::clamp<index_t>(power_of_two_above(s.width * groups), 32, t.tile_threads));
  if (s.runs == 1 && t.clusters && grid.clusters())
    s.sharing = sharing_of_tile<T>(s, e.batch * e.channels, device.shared_bytes);
  if (s.runs == 1 || s.cluster) return s;
  // 48 KiB is what any kernel may have, so this matters to small devices and tests alone.
  index_t const merged = static_cast<index_t>(device.shared_bytes / (sizeof(T) + 4)) / merge_items;
  s.merge_threads = power_of_two_in(std::min<index_t>(t.merge_threads, merged), 32, 512);
  s.chunk_columns = std::clamp<index_t>(grid_tuning_of<T>(grid).chunk_elements / e.length, 1,
                                        e.batch * e.channels);
  return s;
}

// Workspace: the sorted runs of long columns, and what two of them are merged into.
template <class T>
struct sort_layout {
  sort_shape shape;
  T* values[2] = {};
  std::uint32_t* rows[2] = {};

  sort_layout() = default;
  template <class Grid>
  sort_layout(arena& a, Grid const& grid, extents3 e) {
    if (e.empty()) return;
    shape = shape_of_sort<T>(grid, e);
    auto const elements = static_cast<std::size_t>(shape.chunk_columns * e.length);
    int const copies = shape.chunk_columns == 0 ? 0 : shape.runs > 2 ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      values[i] = a.take<T>(elements);
      rows[i] = a.take<std::uint32_t>(elements);
    }
  }
  template <class View>
  sorted_runs<T> runs(View const& view, int copy) const {
    return {values[copy], view.needs_rows() ? rows[copy] : nullptr, view.length()};
  }
};

template <int Rows, class Grid, class View>
void sort_in_registers(Grid const& grid, View const& view, sort_shape const& s) {
  if constexpr (Rows <= max_register_rows<typename View::element>) {
    if (s.register_rows > Rows) return sort_in_registers<2 * Rows>(grid, view, s);
    grid.run(sort_registers_kernel<View, Rows>{view}, divide_up(view.columns(), s.register_threads),
             s.register_threads);
  }
}

// The kernel that sorts some columns, or the runs of which they consist.
template <class View>
sort_tile_kernel<View> tile_kernel(View const& view, sort_layout<typename View::element> const& m,
                                   index_t first_column, index_t columns) {
  sort_shape const& s = m.shape;
  sort_tile_kernel<View> tile{view, first_column, columns};
  tile.width = s.width;
  tile.run_rows = static_cast<int>(s.run_rows);
  tile.runs = static_cast<int>(s.runs);
  tile.paired = s.cluster;
  tile.sharing = s.sharing;
  tile.tiles = divide_up(columns, tile.tile_columns());
  tile.out = m.runs(view, 0);
  return tile;
}

// Merges the runs of some columns, two at a time.
template <class Grid, class View>
void merge_columns(Grid const& grid, View const& view, sort_layout<typename View::element> const& m,
                   index_t first_column, index_t columns) {
  sort_shape const& s = m.shape;
  int from = 0;
  for (index_t run = s.run_rows; run < view.length(); run *= 2, from = 1 - from) {
    merge_runs_kernel<View> merge{view, first_column, columns};
    merge.run_rows = run;
    merge.in = m.runs(view, from);
    merge.out = m.runs(view, 1 - from);
    merge.last = 2 * run >= view.length();
    merge.threads = s.merge_threads;
    grid.run(merge, merge.blocks(), s.merge_threads);
  }
}

template <class Grid, class View>
void sort_columns(Grid const& grid, View const& view,
                  sort_layout<typename View::element> const& m) {
  if (view.x.extents().empty()) return;
  sort_shape const& s = m.shape;
  if constexpr (View::in_registers)
    if (s.register_rows != 0) return sort_in_registers<smallest_network>(grid, view, s);
  index_t const columns = view.columns();
  index_t const chunk = s.chunk_columns == 0 ? columns : s.chunk_columns;
  for (index_t first = 0; first < columns; first += chunk) {
    index_t const count = std::min(chunk, columns - first);
    sort_tile_kernel<View> const tile = tile_kernel(view, m, first, count);
    grid.run(tile, tile.blocks(), s.threads, tile.cluster());
    if (!s.cluster) merge_columns(grid, view, m, first, count);
  }
}

SLICESORT_DETAIL_END
