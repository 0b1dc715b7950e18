// SPDX-License-Identifier: Apache-2.0
// Permutes the rows of every column of a tensor: through tiles in shared memory, or directly where
// a column does not fit there.
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

// Rows to move: out[perm[n]] = in[n], or with `gather` out[n] = in[perm[n]]; or += if `mode`
// accumulates.
template <class T>
struct column_transfer {
  tensor3<T const> in;
  tensor3<T> out;  // may be in
  bool gather;
  grad_mode mode;
};
// Columns to permute by a tensor of row numbers.
template <class T>
struct column_permutation {
  tensor3<T const> in;
  tensor3<T> out;
  index_rows perm;  // of all rows; its strides may be 0
  bool gather;
  grad_mode mode;
};

// Workspace: columns too long for tiles are copied first if they are permuted in place.
template <class T>
struct permute_layout {
  T* copy = nullptr;    // of the columns that move at a time; null: columns fit in tiles
  index_t columns = 0;  // how many columns the copy holds

  permute_layout() = default;
  template <class Grid>
  permute_layout(arena& a, Grid const& grid, extents3 e) {
    if (e.empty()) return;
    std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length);
    if (tile_width(grid.info(), permute_tuning_of<T>(grid), column, e.length, 1) > 0) return;
    index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
    columns = std::clamp<index_t>(chunk / e.length, 1, e.batch * e.channels);
    copy = a.take<T>(static_cast<std::size_t>(columns * e.length));
  }
};

template <class Grid, class T, class Rows>
void permute_directly(Grid const& grid, column_transfer<T> const& transfer, Rows const& perm,
                      permute_layout<T> const& m) {
  int const threads = grid_tuning_of<T>(grid).element_threads;
  permute_tuning const t = permute_tuning_of<T>(grid);
  extents3 const e = transfer.in.extents();
  index_t const all = e.batch * e.channels;
  bool const in_place = transfer.in.data() == transfer.out.data();
  index_t const chunk = in_place ? m.columns : all;
  int width = t.direct_columns;
  std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length);
  constexpr int sector = std::max(32 / static_cast<int>(sizeof(T)), 1);
  while (width > sector && static_cast<std::size_t>(width) * column > t.direct_bytes) width /= 2;
  for (index_t first = 0; first < all; first += chunk) {
    index_t const count = std::min(chunk, all - first);
    strides3 const s = (transfer.gather ? transfer.out.strides() : transfer.in.strides());
    column_slab const part{first, count, e.length, width, rows_are_adjacent(s)};
    tensor3<T const> in = transfer.in;
    if (in_place) {
      strides3 const copied = part.rows_adjacent ? strides3{0, 1, e.length} : strides3{0, count, 1};
      tensor3<T> const copy(m.copy, {1, e.length, count}, copied);
      grid.run(copy_columns_kernel<T>{transfer.in, copy, part}, part.blocks(threads), threads);
      in = copy;
    }
    permute_direct_kernel<T, Rows> kernel{in, in_place, transfer.out, perm};
    kernel.gather = transfer.gather;
    kernel.mode = transfer.mode;
    kernel.part = part;
    grid.run(kernel, part.blocks(threads), threads);
  }
}

template <class Grid, class T, class Rows>
void permute_columns(Grid const& grid, column_transfer<T> const& transfer, Rows const& perm,
                     permute_layout<T> const& m) {
  extents3 const e = transfer.in.extents();
  if (e.empty()) return;
  device_info const device = grid.info();
  permute_tuning const t = permute_tuning_of<T>(grid);
  std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length);
  index_t const columns = e.batch * e.channels;
  // Rows are scattered inside the tile, so the side that is not scattered decides what is adjacent.
  bool const adjacent =
      rows_are_adjacent(transfer.gather ? transfer.in.strides() : transfer.out.strides());
  bool const in_place = transfer.in.data() == transfer.out.data();

  int const width = tile_width(device, t, column, e.length, columns);
  bool const worth = adjacent || in_place || width >= t.worthwhile_columns || width >= columns;
  if (width == 0 || !worth) return permute_directly(grid, transfer, perm, m);
  permute_tile_kernel<T, Rows> kernel{transfer.in, transfer.out, perm};
  kernel.gather = transfer.gather;
  kernel.mode = transfer.mode;
  kernel.width = width;
  kernel.rows_adjacent = adjacent;
  grid.run(kernel, divide_up(columns, width), tile_threads(t, column, e.length, width));
}

template <class Grid, class T>
void permute_columns(Grid const& grid, column_permutation<T> const& transfer,
                     permute_layout<T> const& m) {
  with_row_numbers(transfer.perm, [&](auto const& perm) {
    permute_columns(grid,
                    column_transfer<T>{transfer.in, transfer.out, transfer.gather, transfer.mode},
                    perm, m);
  });
}

SLICESORT_DETAIL_END
