// SPDX-License-Identifier: Apache-2.0
// Permutes columns that fit in shared memory. A tile is loaded row by row and stored row by row;
// rows change places only inside it. Every element is moved once; nothing is added up but into
// `out`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/store.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// Rows: a permutation of every column (permutation_rows.hpp).
template <class T, class Rows>
struct permute_tile_body {
  static constexpr int max_threads = 1024;
  static constexpr int at_once = 8;  // elements that a thread has under way

  tensor3<T const> in;
  tensor3<T> out;
  Rows perm;
  bool gather = false;
  grad_mode mode = grad_mode::overwrite;
  int width = 1;
  bool rows_adjacent = false;  // in the tile, and in the tensor on the side that is not scattered

  template <class SharedAllocator>
  SLICESORT_HD T* tile(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<T>(static_cast<std::size_t>(in.extents().length) *
                                              static_cast<std::size_t>(width));
  }
  template <class SharedAllocator>
  SLICESORT_HD void shared(SharedAllocator& shared_memory) const {
    tile(shared_memory);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = in.extents();
    auto const [walk, number, inside, at] = column_work(block, e, width, rows_adjacent);
    auto const p = perm.open(at);
    int const length = static_cast<int>(e.length), first = inside ? walk.first_row : length;
    rows_here const rows{tile(block) + (rows_adjacent ? walk.column * length : walk.column),
                         rows_adjacent ? 1 : width, first, length, walk.step};

    if (gather)
      load<false>(rows, column_of<T const>(in, at), p);
    else
      load<true>(rows, column_of<T const>(in, at), p);
    block.sync();
    if (gather)
      store<true, Block>(rows, column_of<T>(out, at), p);
    else
      store<false, Block>(rows, column_of<T>(out, at), p);
  }

 private:
  // A thread's rows of its column.
  struct rows_here {
    T* tile;  // row n lies at tile[n * pitch]
    int pitch;
    int first, end, step;
  };

  // All loads come first, so that none waits for another before its first use.
  template <bool Permuted>
  SLICESORT_HD void load(rows_here const& rows, column_of<T const> from,
                         typename Rows::column const& p) const {
    if (rows.first >= rows.end) return;
    index_t const jump = jump_of(rows.step, rows.end, from.stride);
    T const* source = from.data + rows.first * from.stride;
    auto there = p.walk(rows.first, rows.step, rows.end);
    for (int row = rows.first; row < rows.end;) {
      T value[at_once];
      int to[at_once];
      SLICESORT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        to[k] = row + k * rows.step;
        if (to[k] < rows.end) {
          value[k] = *source;
          if constexpr (Permuted) to[k] = there.next();
          source += jump;
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < at_once; ++k, row += rows.step)
        if (row < rows.end) rows.tile[to[k] * rows.pitch] = value[k];
    }
  }

  template <bool Permuted, class Block>
  SLICESORT_HD void store(rows_here const& rows, column_of<T> to,
                          typename Rows::column const& p) const {
    if (rows.first >= rows.end) return;
    index_t const jump = jump_of(rows.step, rows.end, to.stride);
    T *target = to.data + rows.first * to.stride, *source = target;
    auto there = p.walk(rows.first, rows.step, rows.end);
    for (int row = rows.first; row < rows.end;) {
      T old[at_once] = {}, value[at_once];
      int from[at_once];
      SLICESORT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        from[k] = row + k * rows.step;
        if (from[k] < rows.end) {
          if (mode == grad_mode::accumulate) {
            old[k] = *source;
            source += jump;
          }
          if constexpr (Permuted) from[k] = there.next();
        }
      }
      SLICESORT_UNROLL
      for (int k = 0; k < at_once; ++k)
        if (row + k * rows.step < rows.end) value[k] = rows.tile[from[k] * rows.pitch];
      SLICESORT_UNROLL
      for (int k = 0; k < at_once; ++k, row += rows.step)
        if (row < rows.end) {
          *target = stored_or_accumulated<Block>(mode, old[k], value[k]);
          target += jump;
        }
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
