// SPDX-License-Identifier: Apache-2.0
// Permutes columns that fit in shared memory. A tile is loaded row by row and stored row by row;
// rows change places only inside it. Every element is moved once; nothing is added up but into
// `out`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Rows: a permutation of every column (permutation_rows.hpp).
template <class T, class Rows>
struct permute_tile_kernel {
  static constexpr int max_threads = 1024;
  static constexpr int at_once = sizeof(T) == 8 ? 4 : 8;  // elements that a thread has under way

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
    int const length = static_cast<int>(e.length);
    rows_here const rows{tile(block) + (rows_adjacent ? walk.column * length : walk.column),
                         rows_adjacent ? 1 : width, walk.rows(inside ? length : 0)};

    column_of<T const> const from(in, at);
    column_of<T> const to(out, at);
    if (gather) {
      load<false>(rows, from, p);
      block.sync();
      store<true, Block>(rows, to, p);
    } else {
      load<true>(rows, from, p);
      block.sync();
      store<false, Block>(rows, to, p);
    }
  }

 private:
  // A thread's rows of its column.
  struct rows_here {
    T* tile;  // row n lies at tile[n * pitch]
    int pitch;
    row_range rows;

    SLICESORT_HD_INLINE T& operator[](int row) const { return tile[row * pitch]; }
  };

  // All loads of a batch come first, so that none waits for another before its first use.
  template <bool Permuted>
  SLICESORT_HD void load(rows_here const& here, column_of<T const> from,
                         typename Rows::column const& p) const {
    row_range const rows = here.rows;
    if (rows.first >= rows.end) return;
    auto source = from.walk(0, rows);
    auto there = p.walk(rows);
    for_row_batches<at_once>(rows, [&](auto batch) {
      T value[static_cast<std::size_t>(at_once)];
      int to[static_cast<std::size_t>(at_once)];
      batch.for_each([&](int k, int row) {
        value[k] = source.next();
        to[k] = Permuted ? static_cast<int>(there.next()) : row;
      });
      batch.for_each([&](int k, int) { here[to[k]] = value[k]; });
    });
  }

  template <bool Permuted, class Block>
  SLICESORT_HD void store(rows_here const& here, column_of<T> to,
                          typename Rows::column const& p) const {
    row_range const rows = here.rows;
    if (rows.first >= rows.end) return;
    auto target = to.walk(0, rows), source = target;
    auto there = p.walk(rows);
    for_row_batches<at_once>(rows, [&](auto batch) {
      constexpr auto count = static_cast<std::size_t>(at_once);
      T old[count] = {}, value[count];
      if (mode == grad_mode::accumulate)
        batch.for_each([&](int k, int) { old[k] = source.next(); });
      batch.for_each([&](int k, int row) {
        value[k] = here[Permuted ? static_cast<int>(there.next()) : row];
      });
      batch.for_each([&](int k, int) {
        target.next() = stored_or_accumulated<Block>(mode, old[k], value[k]);
      });
    });
  }
};

SLICESORT_DETAIL_END
