// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that sort groups, and selects how their blocks stage rows (group_tile.hpp).
#pragma once

#include <slicesort/detail/csp/device/exchange_pairs.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/csp/device/groups_view.hpp>
#include <slicesort/detail/csp/device/shifts.hpp>
#include <slicesort/detail/csp/device/sort_short_groups.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Returns the number of columns of a staged tile; 0 if not even one column fits.
template <class T, class Grid>
int staged_width(Grid const& grid, extents3 extents) {
  // Includes the free rows of the tile, at most one in eight.
  std::size_t const column =
      sizeof(T) * static_cast<std::size_t>(extents.length + extents.length / 8);
  return tile_width(grid.info(), permute_tuning_of<T>(grid), column, extents.length,
                    extents.batch * extents.channels);
}
struct csp_shifting {
  bool shifted = false;  // true if some channel is shifted
  csp_config config{};
};

// The following functions complete a tile whose units are set. They return the threads per block,
// or 0 if the tile does not fit.

template <class T, class Grid, class Tile>
int shape_window(Grid const& grid, csp_groups const& groups, csp_shifting const& shifting,
                 Tile& tile) {
  extents3 const extents = groups.extents;
  permute_tuning const tuning = permute_tuning_of<T>(grid);
  sort_tuning const sort = sort_tuning_of<T>(grid);
  int const threads = sort.group_threads;
  int const widest = std::min(floor_power_of_two(tuning.least_columns, 1, warp_threads), threads);
  int const width =
      static_cast<int>(std::min<index_t>(ceil_power_of_two(extents.channels), widest));
  index_t const row_bytes = width * static_cast<index_t>(sizeof(T));
  // The tile has at most one free row in eight.
  index_t const max_rows =
      static_cast<index_t>(tuning.shared_tile_bytes) / row_bytes / 9 * 8 - Tile::run;
  bool const ragged = groups.lengths.data() != nullptr;
  shift_spread const spread = spread_of(shifting.config, extents, ragged, width, max_rows);
  if (spread.width == 0) return 0;

  // Each block sorts at least as many rows as its window overlaps with the next.
  index_t const overlap = index_t{spread.above} + spread.below, unit = tile.rows_per_unit;
  index_t const step = divide_up(sort.group_rows, unit) * (threads / width);
  index_t const units = divide_up(std::max(step * unit, overlap), step * unit) * step;
  index_t const rows = units * unit + overlap;
  if (rows > max_rows || rows > extents.length) return 0;
  tile.staged = tile.windowed = true;
  tile.width = width;
  tile.spread = spread;
  tile.units_per_block = static_cast<std::uint32_t>(units);
  tile.blocks_per_tile = divide_up(index_t{tile.units}, units);
  return threads;
}

template <class T, class Grid, class Tile>
int shape_columns(Grid const& grid, extents3 extents, bool in_place, int max_threads, Tile& tile) {
  permute_tuning const tuning = permute_tuning_of<T>(grid);
  int const fitting = std::min(staged_width<T>(grid, extents), max_threads);
  bool const use_tiles = tile.rows_adjacent || in_place || fitting >= tuning.worthwhile_columns ||
                         fitting >= extents.batch * extents.channels;
  if (fitting == 0 || !use_tiles) return 0;
  tile.staged = true;
  tile.width = fitting;
  tile.units_per_block = tile.units;
  tile.blocks_per_tile = 1;
  std::size_t const column = sizeof(T) * static_cast<std::size_t>(extents.length);
  return std::min(tile_threads(tuning, column, extents.length, fitting), max_threads);
}

template <class T, class Grid, class Tile>
int shape_unstaged(Grid const& grid, extents3 extents, Tile& tile) {
  sort_tuning const sort = sort_tuning_of<T>(grid);
  index_t const columns = extents.batch * extents.channels, column_units = tile.units;
  tile.width = floor_power_of_two(columns, 1, warp_threads);
  index_t const units_per_pass = sort.group_threads / tile.width;
  index_t units = divide_up(sort.group_rows, index_t{tile.rows_per_unit}) * units_per_pass;
  // Prefers more blocks over more rows per thread.
  if (divide_up(columns, tile.width) * divide_up(column_units, units) < grid.info().processors)
    units = units_per_pass;
  tile.units_per_block = static_cast<std::uint32_t>(units);
  tile.blocks_per_tile = divide_up(column_units, units);
  return sort.group_threads;
}

inline group_rows slice_batch(group_rows rows, index_t first) {
  if (rows.present())
    rows.data = static_cast<unsigned char*>(rows.data) + first * rows.strides.batch * rows.bytes;
  return rows;
}

// Returns the extents of a tensor whose columns are the groups.
inline extents3 group_extents(extents3 extents, index_t group) {
  return {extents.batch * divide_up(extents.length, group), group, extents.channels};
}

template <class T, class Grid>
bool groups_in_registers(Grid const& grid, index_t group) {
  index_t const longest = sort_tuning_of<T>(grid).register_rows;
  return group <= 2 || group <= std::min<index_t>(longest, max_register_rows<T>);
}

template <class T, class Grid>
bool groups_staged(Grid const& grid, extents3 extents, index_t group) {
  return groups_in_registers<T>(grid, group) && staged_width<T>(grid, extents) > 0;
}

// Runs a kernel whose threads process units of `unit_rows` rows of x. In-place calls with shifts
// require columns that fit in shared memory.
template <class Grid, class Kernel, class T>
void run_on_groups(Grid const& grid, Kernel kernel, csp_groups const& groups, tensor3<T const> x,
                   bool in_place, csp_shifting const& shifting, index_t unit_rows) {
  extents3 const extents = x.extents();
  auto& tile = kernel.tile;
  tile.rows_adjacent = rows_are_adjacent(x.strides());
  tile.units = static_cast<std::uint32_t>(divide_up(extents.length, unit_rows));
  tile.rows_per_unit = static_cast<std::uint32_t>(unit_rows);
  int threads = 0;
  if (shifting.shifted && !in_place) threads = shape_window<T>(grid, groups, shifting, tile);
  if (shifting.shifted && threads == 0)
    threads = shape_columns<T>(grid, extents, in_place, Kernel::max_threads, tile);
  if (threads == 0) threads = shape_unstaged<T>(grid, extents, tile);
  tile.divide_by_blocks = index_division(tile.blocks_per_tile);
  tile.divide_by_channels = index_division(extents.channels);
  grid.run(kernel, divide_up(extents.batch * extents.channels, tile.width) * tile.blocks_per_tile,
           threads);
}
template <class Kernel, class Grid, class T>
void run_on_groups(Grid const& grid, groups_view<T> const& view, csp_shifting const& shifting,
                   index_t unit_rows) {
  run_on_groups(grid, Kernel{view, {}}, view.groups, view.x, view.x.data() == view.y.data(),
                shifting, unit_rows);
}

template <int Rows, class Grid, class T>
void sort_groups_in_registers(Grid const& grid, groups_view<T> const& view,
                              csp_shifting const& shifting) {
  if constexpr (Rows <= max_register_rows<T>) {
    if (view.groups.group > Rows) return sort_groups_in_registers<2 * Rows>(grid, view, shifting);
    run_on_groups<sort_short_groups_kernel<T, Rows>>(grid, view, shifting, view.groups.group);
  }
}

template <class Grid, class T>
void sort_groups(Grid const& grid, groups_view<T> const& view, csp_shifting const& shifting,
                 sort_layout<T> const& layout) {
  index_t const group = view.groups.group;
  if (group == 2)
    run_on_groups<exchange_pairs_kernel<T>>(grid, view, shifting, rows_per_byte);
  else if (groups_in_registers<T>(grid, group))
    sort_groups_in_registers<4>(grid, view, shifting);
  else
    sort_columns(grid, view, layout);
}

SLICESORT_DETAIL_END
