// SPDX-License-Identifier: Apache-2.0
// Launches kernels that follow chains (chained_columns.hpp).
#pragma once

#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/slices.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/permutation/device/chained_columns.hpp>
#include <slicesort/detail/permutation/device/permute_direct.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Strides of a tensor in the workspace in which the columns of all samples lie side by side, like
// those of one sample.
inline strides3 side_by_side(extents3 e, bool rows_adjacent) {
  if (rows_adjacent) return {e.channels * e.length, 1, e.length};
  return {e.channels, e.batch * e.channels, 1};
}

template <class T, class Grid>
void copy_side_by_side(Grid const& grid, tensor3<T const> from, T* to, bool rows_adjacent) {
  int const threads = grid_tuning_of<T>(grid).element_threads;
  extents3 const e = from.extents();
  index_t const columns = e.batch * e.channels;
  column_slab const all{0, columns, e.length, warp_threads, rows_adjacent};
  tensor3<T> const target(to, {1, e.length, columns}, side_by_side(e, rows_adjacent));
  grid.run(copy_columns_kernel<T>{from, target, all}, all.blocks(threads), threads);
}

// Shared memory of a column with its permutation, which has rows of 16 bits.
template <class T>
std::size_t chained_bytes(index_t length) {
  return (sizeof(T) + sizeof(std::uint16_t)) * static_cast<std::size_t>(length);
}

// How many columns a tile has; 0 if none fits.
template <class T, class Grid>
int chained_width(Grid const& grid, std::size_t column_bytes, extents3 e) {
  if (!narrow_rows(e.length)) return 0;
  return tile_width(grid.info(), permute_tuning_of<T>(grid), column_bytes, e.length,
                    e.batch * e.channels);
}

// Runs `kernel`, whose `columns` are chained columns of extents `e`; they need `column_bytes` each.
template <class Grid, class Kernel, class T, bool InShared>
void run_chained(Grid const& grid, Kernel kernel, chained_columns<T, InShared> Kernel::*columns,
                 std::size_t column_bytes) {
  extents3 const e = (kernel.*columns).values.extents();
  permute_tuning const t = permute_tuning_of<T>(grid);
  int const wanted = InShared ? chained_width<T>(grid, column_bytes, e) : warp_threads;
  int const width = std::min(wanted, Kernel::max_threads);
  (kernel.*columns).width = width;
  grid.run(
      kernel, divide_up(e.batch * e.channels, width),
      std::min(tile_threads(t, InShared ? column_bytes : 0, e.length, width), Kernel::max_threads));
}

SLICESORT_DETAIL_END
