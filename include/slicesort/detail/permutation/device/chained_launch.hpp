// SPDX-License-Identifier: Apache-2.0
// Launches kernels that follow chains of rows (chained_columns.hpp).
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

// Returns the strides of a workspace tensor with one sample, which has the columns of all samples.
inline strides3 one_sample_strides(extents3 extents, bool rows_adjacent) {
  if (rows_adjacent) return {extents.channels * extents.length, 1, extents.length};
  return {extents.channels, extents.batch * extents.channels, 1};
}

// Copies x to a tensor in `memory` with these strides.
template <class T, class Grid>
void copy_as_one_sample(Grid const& grid, tensor3<T const> x, T* memory, bool rows_adjacent) {
  int const threads = grid_tuning_of<T>(grid).element_threads;
  extents3 const extents = x.extents();
  index_t const columns = extents.batch * extents.channels;
  column_slab const slab{0, columns, extents.length, warp_threads, rows_adjacent};
  tensor3<T> const target(memory, {1, extents.length, columns},
                          one_sample_strides(extents, rows_adjacent));
  grid.run(copy_columns_kernel<T>{x, target, slab}, slab.blocks(threads), threads);
}

template <class T>
std::size_t chained_bytes(index_t length) {
  return (sizeof(T) + sizeof(std::uint16_t)) * static_cast<std::size_t>(length);
}

// Returns the number of columns per tile, or 0 if no column fits in shared memory with 16-bit rows.
template <class T, class Grid>
int chained_width(Grid const& grid, std::size_t column_bytes, extents3 extents) {
  if (!fits_16_bits(extents.length)) return 0;
  return tile_width(grid.info(), permute_tuning_of<T>(grid), column_bytes, extents.length,
                    extents.batch * extents.channels);
}

// Runs `kernel`, whose member `columns` needs `column_bytes` of shared memory per column.
template <class Grid, class Kernel, class T, bool InShared>
void run_chained(Grid const& grid, Kernel kernel, chained_columns<T, InShared> Kernel::*columns,
                 std::size_t column_bytes) {
  extents3 const extents = (kernel.*columns).values.extents();
  permute_tuning const tuning = permute_tuning_of<T>(grid);
  int const fitting_width = InShared ? chained_width<T>(grid, column_bytes, extents) : warp_threads;
  int const width = std::min(fitting_width, Kernel::max_threads);
  (kernel.*columns).width = width;
  grid.run(kernel, divide_up(extents.batch * extents.channels, width),
           std::min(tile_threads(tuning, InShared ? column_bytes : 0, extents.length, width),
                    Kernel::max_threads));
}

SLICESORT_DETAIL_END
