// SPDX-License-Identifier: Apache-2.0
// Permutes columns that fit in shared memory. A tile is loaded and stored row by row, and permuted
// only inside shared memory. Every element is loaded and stored once.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class T, class Rows>
struct permute_tile_kernel {
  static constexpr int max_threads = 1024;
  static constexpr int in_flight = sizeof(T) == 8 ? 4 : 8;  // elements that a thread has in flight

  tensor3<T const> x;
  tensor3<T> y;
  Rows perm;
  bool gather = false;
  grad_mode mode = grad_mode::overwrite;
  int width = 1;
  // True if rows are adjacent in the tile, and in the tensor on the side that is not scattered.
  bool rows_adjacent = false;

  template <class SharedAllocator>
  SLICESORT_HD T* allocate_tile(SharedAllocator& allocator) const {
    return allocator.template allocate<T>(static_cast<std::size_t>(x.extents().length) *
                                          static_cast<std::size_t>(width));
  }
  template <class SharedAllocator>
  SLICESORT_HD void shared(SharedAllocator& allocator) const {
    allocate_tile(allocator);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const extents = x.extents();
    auto const [walk, column_number, has_column, column] =
        column_work(block, extents, width, rows_adjacent);
    auto const indices = perm.column_at(column);
    int const length = static_cast<int>(extents.length);
    thread_rows const rows{
        allocate_tile(block) + (rows_adjacent ? walk.column * length : walk.column),
        rows_adjacent ? 1 : width, walk.rows(has_column ? length : 0)};

    column_of<T const> const from(x, column);
    column_of<T> const to(y, column);
    if (gather) {
      load<false>(rows, from, indices);
      block.sync();
      store<true, Block>(rows, to, indices);
    } else {
      load<true>(rows, from, indices);
      block.sync();
      store<false, Block>(rows, to, indices);
    }
  }

 private:
  // Rows of a thread in its column of the tile.
  struct thread_rows {
    T* tile;  // row n is tile[n * pitch]
    int pitch;
    row_range rows;

    SLICESORT_HD_INLINE T& operator[](int row) const { return tile[row * pitch]; }
  };

  // Issues all loads of a batch of rows first, so that their latencies overlap.
  template <bool Permutes>
  SLICESORT_HD void load(thread_rows const& tile_column, column_of<T const> from,
                         typename Rows::column const& indices) const {
    row_range const rows = tile_column.rows;
    if (rows.first >= rows.end) return;
    auto values = from.walk(0, rows);
    auto index = indices.walk(rows);
    for_row_batches<in_flight>(rows, [&](auto batch) {
      T value[static_cast<std::size_t>(in_flight)];
      int target[static_cast<std::size_t>(in_flight)];
      batch.for_each([&](int k, int row) {
        value[k] = values.next();
        target[k] = Permutes ? static_cast<int>(index.next()) : row;
      });
      batch.for_each([&](int k, int) { tile_column[target[k]] = value[k]; });
    });
  }

  template <bool Permutes, class Block>
  SLICESORT_HD void store(thread_rows const& tile_column, column_of<T> to,
                          typename Rows::column const& indices) const {
    row_range const rows = tile_column.rows;
    if (rows.first >= rows.end) return;
    auto target = to.walk(0, rows), old_values = target;
    auto index = indices.walk(rows);
    for_row_batches<in_flight>(rows, [&](auto batch) {
      constexpr auto count = static_cast<std::size_t>(in_flight);
      T old[count] = {}, value[count];
      if (mode == grad_mode::accumulate)
        batch.for_each([&](int k, int) { old[k] = old_values.next(); });
      batch.for_each([&](int k, int row) {
        value[k] = tile_column[Permutes ? static_cast<int>(index.next()) : row];
      });
      batch.for_each([&](int k, int) {
        target.next() = stored_or_accumulated<Block>(mode, old[k], value[k]);
      });
    });
  }
};

SLICESORT_DETAIL_END
