// SPDX-License-Identifier: Apache-2.0
// How the blocks of csp's kernels stage rows (group_tile.hpp): chosen here.
#pragma once

#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/csp/device/shifts.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// The columns of a tile that is staged in shared memory; 0 where not even one fits.
template <class T, class Grid>
int staged_width(Grid const& grid, extents3 e) {
  // At most one free row in eight.
  std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length + e.length / 8);
  return tile_width(grid.info(), permute_tuning_of<T>(grid), column, e.length,
                    e.batch * e.channels);
}
// Of a call that shifts its channels: what the policies say of them.
struct csp_shifting {
  bool any = false;  // whether any channel is shifted
  csp_config config{};
};

// The functions below fill in a tile that knows its units, and return the threads of a block; or 0.

// Windows, where shifts are similar enough.
template <class T, class Grid, class Tile>
int shape_window(Grid const& grid, csp_groups const& groups, csp_shifting const& shifting,
                 Tile& tile) {
  extents3 const e = groups.extents;
  permute_tuning const t = permute_tuning_of<T>(grid);
  sort_tuning const s = sort_tuning_of<T>(grid);
  int const threads = s.group_threads;
  int const widest = std::min(power_of_two_in(t.least_columns, 1, warp_threads), threads);
  int const width = static_cast<int>(std::min<index_t>(power_of_two_above(e.channels), widest));
  index_t const row_bytes = width * static_cast<index_t>(sizeof(T));
  // Of a tile with a free row after every eight, at most.
  index_t const most = static_cast<index_t>(t.shared_tile_bytes) / row_bytes / 9 * 8 - Tile::run;
  bool const ragged = groups.lengths.data() != nullptr;
  shift_spread const spread = spread_of(shifting.config, e, ragged, width, most);
  if (spread.width == 0) return 0;

  // No fewer rows than are read twice.
  index_t const twice = index_t{spread.above} + spread.below, unit = tile.rows_of_unit;
  index_t const step = divide_up(s.group_rows, unit) * (threads / width);
  index_t const wanted = divide_up(std::max(step * unit, twice), step * unit) * step;
  index_t const rows = wanted * unit + twice;
  if (rows > most || rows > e.length) return 0;
  tile.staged = tile.windowed = true;
  tile.width = width;
  tile.spread = spread;
  tile.units_of_block = static_cast<std::uint32_t>(wanted);
  tile.blocks_of_tile = divide_up(index_t{tile.units}, wanted);
  return threads;
}

// Whole columns, where they fit and it is worth it.
template <class T, class Grid, class Tile>
int shape_columns(Grid const& grid, extents3 e, bool in_place, int max_threads, Tile& tile) {
  permute_tuning const t = permute_tuning_of<T>(grid);
  int const fitting = std::min(staged_width<T>(grid, e), max_threads);
  bool const worth = tile.rows_adjacent || in_place || fitting >= t.worthwhile_columns ||
                     fitting >= e.batch * e.channels;
  if (fitting == 0 || !worth) return 0;
  tile.staged = true;
  tile.width = fitting;
  tile.units_of_block = tile.units;
  tile.blocks_of_tile = 1;
  std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length);
  return std::min(tile_threads(t, column, e.length, fitting), max_threads);
}

// Rows that are read from the tensor.
template <class T, class Grid, class Tile>
int shape_unstaged(Grid const& grid, extents3 e, Tile& tile) {
  sort_tuning const s = sort_tuning_of<T>(grid);
  index_t const columns = e.batch * e.channels, units = tile.units;
  tile.width = power_of_two_in(columns, 1, warp_threads);
  index_t const at_once = s.group_threads / tile.width;
  index_t wanted = divide_up(s.group_rows, index_t{tile.rows_of_unit}) * at_once;
  // Rather more blocks than more rows of a thread.
  if (divide_up(columns, tile.width) * divide_up(units, wanted) < grid.info().processors)
    wanted = at_once;
  tile.units_of_block = static_cast<std::uint32_t>(wanted);
  tile.blocks_of_tile = divide_up(units, wanted);
  return s.group_threads;
}

SLICESORT_DETAIL_END
