// SPDX-License-Identifier: Apache-2.0
// Permutes the rows of every column of a tensor: through tiles in shared memory, or in global
// memory if a column does not fit.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/permutation/device/permutation_rows.hpp>
#include <slicesort/detail/permutation/device/permute_direct.hpp>
#include <slicesort/detail/permutation/device/permute_tile.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Tensors of a permutation: y[perm[n]] = x[n], or with `gather` y[n] = x[perm[n]]; adds to y if
// `mode` is accumulate.
template <class T>
struct column_transfer {
  tensor3<T const> x;
  tensor3<T> y;  // may be x
  bool gather;
  grad_mode mode;
};

// Workspace: a copy of some columns, for those too long for tiles that are permuted in place.
template <class T>
struct permute_layout {
  T* copy = nullptr;    // null if columns fit in tiles
  index_t columns = 0;  // columns in the copy

  permute_layout() = default;
  template <class Grid>
  permute_layout(arena& memory, Grid const& grid, extents3 extents) {
    if (extents.empty()) return;
    std::size_t const column_bytes = sizeof(T) * static_cast<std::size_t>(extents.length);
    if (tile_width(grid.info(), permute_tuning_of<T>(grid), column_bytes, extents.length, 1) > 0)
      return;
    index_t const chunk_elements = grid_tuning_of<T>(grid).chunk_elements;
    columns =
        std::clamp<index_t>(chunk_elements / extents.length, 1, extents.batch * extents.channels);
    copy = memory.take<T>(static_cast<std::size_t>(columns * extents.length));
  }
};

template <class Grid, class T, class Rows>
void permute_directly(Grid const& grid, column_transfer<T> const& transfer, Rows const& perm,
                      permute_layout<T> const& layout) {
  int const threads = grid_tuning_of<T>(grid).element_threads;
  permute_tuning const tuning = permute_tuning_of<T>(grid);
  extents3 const extents = transfer.x.extents();
  index_t const column_count = extents.batch * extents.channels;
  bool const in_place = transfer.x.data() == transfer.y.data();
  index_t const chunk_columns = in_place ? layout.columns : column_count;
  int width = tuning.direct_columns;
  std::size_t const column_bytes = sizeof(T) * static_cast<std::size_t>(extents.length);
  constexpr int sector = std::max(32 / static_cast<int>(sizeof(T)), 1);
  while (width > sector && static_cast<std::size_t>(width) * column_bytes > tuning.direct_bytes)
    width /= 2;
  for (index_t first = 0; first < column_count; first += chunk_columns) {
    index_t const count = std::min(chunk_columns, column_count - first);
    strides3 const strides = transfer.gather ? transfer.y.strides() : transfer.x.strides();
    column_slab const slab{first, count, extents.length, width, rows_are_adjacent(strides)};
    tensor3<T const> x = transfer.x;
    if (in_place) {
      strides3 const copy_strides =
          slab.rows_adjacent ? strides3{0, 1, extents.length} : strides3{0, count, 1};
      tensor3<T> const copy(layout.copy, {1, extents.length, count}, copy_strides);
      grid.run(copy_columns_kernel<T>{transfer.x, copy, slab}, slab.blocks(threads), threads);
      x = copy;
    }
    permute_direct_kernel<T, Rows> kernel{x, in_place, transfer.y, perm};
    kernel.gather = transfer.gather;
    kernel.mode = transfer.mode;
    kernel.slab = slab;
    grid.run(kernel, slab.blocks(threads), threads);
  }
}

template <class Grid, class T, class Rows>
void permute_columns(Grid const& grid, column_transfer<T> const& transfer, Rows const& perm,
                     permute_layout<T> const& layout) {
  extents3 const extents = transfer.x.extents();
  if (extents.empty()) return;
  device_info const device = grid.info();
  permute_tuning const tuning = permute_tuning_of<T>(grid);
  std::size_t const column_bytes = sizeof(T) * static_cast<std::size_t>(extents.length);
  index_t const columns = extents.batch * extents.channels;
  // Rows are scattered inside the tile, so the layout of the side that is not scattered decides.
  bool const adjacent =
      rows_are_adjacent(transfer.gather ? transfer.x.strides() : transfer.y.strides());
  bool const in_place = transfer.x.data() == transfer.y.data();

  int const width = tile_width(device, tuning, column_bytes, extents.length, columns);
  bool const use_tiles =
      adjacent || in_place || width >= tuning.worthwhile_columns || width >= columns;
  if (width == 0 || !use_tiles) return permute_directly(grid, transfer, perm, layout);
  permute_tile_kernel<T, Rows> kernel{transfer.x, transfer.y, perm};
  kernel.gather = transfer.gather;
  kernel.mode = transfer.mode;
  kernel.width = width;
  kernel.rows_adjacent = adjacent;
  grid.run(kernel, divide_up(columns, width),
           tile_threads(tuning, column_bytes, extents.length, width));
}

// Permutes by a tensor of row numbers. Its strides may be 0.
template <class Grid, class T>
void permute_columns(Grid const& grid, column_transfer<T> const& transfer, index_rows rows,
                     permute_layout<T> const& layout) {
  with_row_numbers(rows, [&](auto const& perm) { permute_columns(grid, transfer, perm, layout); });
}

SLICESORT_DETAIL_END
