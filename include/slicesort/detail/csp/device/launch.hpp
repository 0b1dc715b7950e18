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
  std::size_t const column_bytes =
      sizeof(T) * static_cast<std::size_t>(extents.length + extents.length / 8);
  return tile_width(grid.info(), permute_tuning_of<T>(grid), column_bytes, extents.length,
                    extents.batch * extents.channels);
}

// Shifts of a launch. `config` is only used if some channel is shifted.
struct csp_shift_info {
  bool has_shifts = false;  // true if some channel is shifted
  csp_config config{};
};

// Returns the rows per thread. Pairs take few instructions per row, so their blocks stage half as
// many.
template <class T, class Grid>
index_t rows_per_thread(Grid const& grid, index_t group) {
  int const rows = sort_tuning_of<T>(grid).group_rows;
  return is_pair(group) ? std::max(rows / 2, 1) : rows;
}

// The following three functions complete a tile whose units are set. They return the threads per
// block, or 0 if the tile does not fit. A tile stages a window, stages whole columns, or reads the
// tensor directly.
template <class T, class Grid, class Tile>
int shape_window(Grid const& grid, csp_groups const& groups, csp_shift_info const& shift_info,
                 Tile& tile) {
  extents3 const extents = groups.extents;
  permute_tuning const tuning = permute_tuning_of<T>(grid);
  int const threads = sort_tuning_of<T>(grid).group_threads;
  int const max_width = std::min(clamped_bit_floor(tuning.least_columns, 1, warp_threads), threads);
  int const width = static_cast<int>(std::min<index_t>(bit_ceil(extents.channels), max_width));
  index_t const row_bytes = width * static_cast<index_t>(sizeof(T));
  // The tile has at most one free row in eight.
  index_t const max_rows =
      static_cast<index_t>(tuning.shared_tile_bytes) / row_bytes / 9 * 8 - Tile::free_row_interval;
  bool const has_lengths = groups.lengths.data() != nullptr;
  shift_spread const spread = spread_of(shift_info.config, extents, has_lengths, width, max_rows);
  if (spread.width == 0) return 0;

  // Each block sorts at least as many rows as its window overlaps with the next.
  index_t const overlap = index_t{spread.above} + spread.below, unit_rows = tile.rows_per_unit;
  index_t const units_per_pass =
      divide_up(rows_per_thread<T>(grid, groups.group), unit_rows) * (threads / width);
  index_t const units =
      divide_up(std::max(units_per_pass * unit_rows, overlap), units_per_pass * unit_rows) *
      units_per_pass;
  index_t const rows = units * unit_rows + overlap;
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
  int const width = std::min(staged_width<T>(grid, extents), max_threads);
  bool const use_tiles = tile.rows_adjacent || in_place || width >= tuning.worthwhile_columns ||
                         width >= extents.batch * extents.channels;
  if (width == 0 || !use_tiles) return 0;
  tile.staged = true;
  tile.width = width;
  tile.units_per_block = tile.units;
  tile.blocks_per_tile = 1;
  std::size_t const column_bytes = sizeof(T) * static_cast<std::size_t>(extents.length);
  return std::min(tile_threads(tuning, column_bytes, extents.length, width), max_threads);
}

template <class T, class Grid, class Tile>
int shape_unstaged(Grid const& grid, csp_groups const& groups, Tile& tile) {
  extents3 const extents = groups.extents;
  int const threads = sort_tuning_of<T>(grid).group_threads;
  index_t const columns = extents.batch * extents.channels, units_per_column = tile.units;
  tile.width = clamped_bit_floor(columns, 1, warp_threads);
  index_t const units_per_pass = threads / tile.width;
  index_t units = divide_up(rows_per_thread<T>(grid, groups.group), index_t{tile.rows_per_unit}) *
                  units_per_pass;
  // Prefers more blocks over more rows per thread.
  if (divide_up(columns, tile.width) * divide_up(units_per_column, units) < grid.info().sm_count)
    units = units_per_pass;
  tile.units_per_block = static_cast<std::uint32_t>(units);
  tile.blocks_per_tile = divide_up(units_per_column, units);
  return threads;
}

// Returns the order of the samples from `first_sample` on.
inline order_tensor slice_batch(order_tensor order, index_t first_sample) {
  if (order.is_present())
    order.data = static_cast<unsigned char*>(order.data) +
                 first_sample * order.strides.batch * order.element_bytes;
  return order;
}

// Returns the extents of a tensor whose columns are the groups.
inline extents3 group_extents(extents3 extents, index_t group) {
  return {extents.batch * divide_up(extents.length, group), group, extents.channels};
}

// True if a thread sorts a group of `group` rows in its registers.
template <class T, class Grid>
bool fits_registers(Grid const& grid, index_t group) {
  index_t const max_rows = sort_tuning_of<T>(grid).register_rows;
  return !needs_sort(group) || group <= std::min<index_t>(max_rows, max_register_rows<T>);
}

// True if groups can be sorted from whole columns in shared memory.
template <class T, class Grid>
bool can_stage_columns(Grid const& grid, extents3 extents, index_t group) {
  return fits_registers<T>(grid, group) && staged_width<T>(grid, extents) > 0;
}

// Runs a kernel whose threads process units of `unit_rows` rows of x. In-place calls with shifts
// require columns that fit in shared memory.
template <class Grid, class Kernel, class T>
void run_on_groups(Grid const& grid, Kernel kernel, csp_groups const& groups, tensor3<T const> x,
                   bool in_place, csp_shift_info const& shift_info, index_t unit_rows) {
  extents3 const extents = x.extents();
  auto& tile = kernel.tile;
  tile.rows_adjacent = rows_are_adjacent(x.strides());
  tile.units = static_cast<std::uint32_t>(divide_up(extents.length, unit_rows));
  tile.rows_per_unit = static_cast<std::uint32_t>(unit_rows);
  int threads = 0;
  if (shift_info.has_shifts && !in_place) threads = shape_window<T>(grid, groups, shift_info, tile);
  if (shift_info.has_shifts && threads == 0)
    threads = shape_columns<T>(grid, extents, in_place, Kernel::max_threads, tile);
  if (threads == 0) threads = shape_unstaged<T>(grid, groups, tile);
  tile.divide_by_blocks = index_division(tile.blocks_per_tile);
  tile.divide_by_channels = index_division(extents.channels);
  grid.run(kernel, divide_up(extents.batch * extents.channels, tile.width) * tile.blocks_per_tile,
           threads);
}
template <class Kernel, class Grid, class T>
void run_on_groups(Grid const& grid, groups_view<T> const& view, csp_shift_info const& shift_info,
                   index_t unit_rows) {
  run_on_groups(grid, Kernel{view, {}}, view.groups, view.x, view.x.data() == view.y.data(),
                shift_info, unit_rows);
}

// Runs the kernel with the smallest power of two of rows that holds a group.
template <int Rows, class Grid, class T>
void sort_groups_in_registers(Grid const& grid, groups_view<T> const& view,
                              csp_shift_info const& shift_info) {
  if constexpr (Rows <= max_register_rows<T>) {
    if (view.groups.group > Rows) return sort_groups_in_registers<2 * Rows>(grid, view, shift_info);
    run_on_groups<sort_short_groups_kernel<T, Rows>>(grid, view, shift_info, view.groups.group);
  }
}

template <class Grid, class T>
void sort_groups(Grid const& grid, groups_view<T> const& view, csp_shift_info const& shift_info,
                 sort_layout<T> const& layout) {
  index_t const group = view.groups.group;
  if (is_pair(group))
    run_on_groups<exchange_pairs_kernel<T>>(grid, view, shift_info, rows_per_byte);
  else if (fits_registers<T>(grid, group))
    sort_groups_in_registers<4>(grid, view, shift_info);
  else
    sort_columns(grid, view, layout);
}

SLICESORT_DETAIL_END
