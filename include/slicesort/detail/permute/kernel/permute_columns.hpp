// SPDX-License-Identifier: Apache-2.0
// Permutes the rows of every column of a tensor: through tiles in shared memory, or directly where
// a column does not fit there.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/tile_shape.hpp>
#include <slicesort/detail/kernel/tuning.hpp>
#include <slicesort/detail/permute/kernel/permutation_rows.hpp>
#include <slicesort/detail/permute/kernel/permute_direct.hpp>
#include <slicesort/detail/permute/kernel/permute_tile.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/tuning.hpp>

#include <algorithm>
#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// out[perm[n]] = in[n], or out[n] = in[perm[n]] (gather); or += .
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
  T* copy = nullptr;    // of the columns that move at one time; null: columns fit in tiles
  index_t columns = 0;  // as many

  permute_layout() = default;
  template <class Grid>
  permute_layout(detail::arena& a, Grid const& grid, extents3 e) {
    if (e.empty()) return;
    std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length);
    if (tile_width(grid.info(), permute_tuning_of<T>(grid), column, e.length, 1) > 0) return;
    index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
    columns = std::clamp<index_t>(chunk / e.length, 1, e.batch * e.channels);
    copy = a.take<T>(static_cast<std::size_t>(columns * e.length));
  }
};

template <class Grid, class T, class Rows>
void permute_directly(Grid const& grid, column_transfer<T> const& job, Rows const& perm,
                      permute_layout<T> const& m) {
  int const threads = grid_tuning_of<T>(grid).element_threads;
  permute_tuning const t = permute_tuning_of<T>(grid);
  extents3 const e = job.in.extents();
  index_t const all = e.batch * e.channels;
  bool const in_place = job.in.data() == job.out.data();
  index_t const chunk = in_place ? m.columns : all;
  int width = t.direct_columns;
  std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length);
  constexpr int sector = std::max(32 / static_cast<int>(sizeof(T)), 1);
  while (width > sector && static_cast<std::size_t>(width) * column > t.direct_bytes) width /= 2;
  for (index_t first = 0; first < all; first += chunk) {
    index_t const count = std::min(chunk, all - first);
    strides3 const s = (job.gather ? job.out.strides() : job.in.strides());
    column_slab const part{first, count, e.length, width, rows_are_adjacent(s)};
    tensor3<T const> in = job.in;
    if (in_place) {
      strides3 const copied = part.rows_adjacent ? strides3{0, 1, e.length} : strides3{0, count, 1};
      tensor3<T> const copy(m.copy, {1, e.length, count}, copied);
      grid.run(copy_columns_body<T>{job.in, copy, part}, part.blocks(threads), threads);
      in = copy;
    }
    grid.run(permute_direct_body<T, Rows>{in, in_place, job.out, perm, job.gather, job.mode, part},
             part.blocks(threads), threads);
  }
}

template <class Grid, class T, class Rows>
void permute_columns(Grid const& grid, column_transfer<T> const& job, Rows const& perm,
                     permute_layout<T> const& m) {
  extents3 const e = job.in.extents();
  if (e.empty()) return;
  device_info const device = grid.info();
  permute_tuning const t = permute_tuning_of<T>(grid);
  std::size_t const column = sizeof(T) * static_cast<std::size_t>(e.length);
  index_t const columns = e.batch * e.channels;
  // Rows are scattered inside the tile, so the side that is not scattered decides what is adjacent.
  bool const adjacent = rows_are_adjacent(job.gather ? job.in.strides() : job.out.strides());
  bool const in_place = job.in.data() == job.out.data();

  int const width = tile_width(device, t, column, e.length, columns);
  bool const worth = adjacent || in_place || width >= t.worthwhile_columns || width >= columns;
  if (width == 0 || !worth) return permute_directly(grid, job, perm, m);
  grid.run(permute_tile_body<T, Rows>{job.in, job.out, perm, job.gather, job.mode, width, adjacent},
           divide_up(columns, width), tile_threads(t, column, e.length, width));
}

template <class Grid, class T>
void permute_columns(Grid const& grid, column_permutation<T> const& job,
                     permute_layout<T> const& m) {
  with_row_numbers(job.perm, [&](auto const& perm) {
    permute_columns(grid, column_transfer<T>{job.in, job.out, job.gather, job.mode}, perm, m);
  });
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
