// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that sort groups.
#pragma once

#include <slicesort/detail/csp/device/exchange_pairs.hpp>
#include <slicesort/detail/csp/device/group_tile_shape.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/csp/device/groups_view.hpp>
#include <slicesort/detail/csp/device/sort_short_groups.hpp>
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

inline group_rows slice_batch(group_rows rows, index_t first) {
  if (rows.present())
    rows.data = static_cast<unsigned char*>(rows.data) + first * rows.strides.batch * rows.bytes;
  return rows;
}

// Extents of a tensor whose columns are the groups.
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

// Runs a kernel whose threads take units of `unit_rows` rows of x. In-place calls with shifts
// require columns that fit in shared memory.
template <class Grid, class Kernel, class T>
void run_on_groups(Grid const& grid, Kernel kernel, csp_groups const& groups, tensor3<T const> x,
                   bool in_place, csp_shifting const& shifting, index_t unit_rows) {
  extents3 const extents = x.extents();
  auto& tile = kernel.tile;
  tile.rows_adjacent = rows_are_adjacent(x.strides());
  tile.units = static_cast<std::uint32_t>(divide_up(extents.length, unit_rows));
  tile.rows_of_unit = static_cast<std::uint32_t>(unit_rows);
  int threads = 0;
  if (shifting.shifted && !in_place) threads = shape_window<T>(grid, groups, shifting, tile);
  if (shifting.shifted && threads == 0)
    threads = shape_columns<T>(grid, extents, in_place, Kernel::max_threads, tile);
  if (threads == 0) threads = shape_unstaged<T>(grid, extents, tile);
  tile.divide_by_blocks = index_division(tile.blocks_of_tile);
  tile.divide_by_channels = index_division(extents.channels);
  grid.run(kernel, divide_up(extents.batch * extents.channels, tile.width) * tile.blocks_of_tile,
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
    run_on_groups<exchange_pairs_kernel<T>>(grid, view, shifting, rows_of_byte);
  else if (groups_in_registers<T>(grid, group))
    sort_groups_in_registers<4>(grid, view, shifting);
  else
    sort_columns(grid, view, layout);
}

SLICESORT_DETAIL_END
