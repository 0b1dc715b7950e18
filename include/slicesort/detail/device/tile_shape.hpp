// SPDX-License-Identifier: Apache-2.0
// Chooses the columns and threads of a block that permutes columns in shared memory.
#pragma once

#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline bool rows_are_adjacent(strides3 strides) { return strides.length < strides.channels; }

// Returns the number of columns per tile, or 0 if no column fits. A column takes `column_bytes` of
// shared memory.
inline int tile_width(device_info device, permute_tuning const& tuning, std::size_t column_bytes,
                      index_t length, index_t columns) {
  auto const tile_fits = [&](int new_width, std::size_t bytes) {
    return column_bytes * static_cast<std::size_t>(new_width) + 64 <= bytes;
  };
  if (!tile_fits(1, device.shared_bytes)) return 0;
  int width = 1;
  // Reaches the minimum width if it fits.
  while (width < tuning.least_columns && width < columns &&
         tile_fits(2 * width, device.shared_bytes))
    width *= 2;
  // Widens tiles while several fit on a multiprocessor and every multiprocessor has at least two.
  while (width < tuning.tile_columns && width < columns &&
         tile_fits(2 * width, tuning.shared_tile_bytes) &&
         columns / (2 * width) >= 2 * device.sm_count)
    width *= 2;
  // Widens tiles of short columns further, to give each thread work.
  while (width < tuning.tile_threads && width < columns &&
         tile_fits(2 * width, tuning.shared_tile_bytes) &&
         2 * width * length <= tuning.tile_threads * tuning.tile_elements &&
         columns / (2 * width) >= 2 * device.sm_count)
    width *= 2;
  return width;
}

// Returns the number of threads per tile, each of which gets at least `tile_elements` elements.
inline int tile_threads(permute_tuning const& tuning, std::size_t column_bytes, index_t length,
                        int width) {
  // A tile that fills a multiprocessor gets twice as many threads.
  bool const shares_multiprocessor =
      column_bytes * static_cast<std::size_t>(width) <= tuning.shared_tile_bytes;
  index_t const limit = std::max(
      width, shares_multiprocessor ? std::max(tuning.tile_threads / 2, 32) : tuning.tile_threads);
  return static_cast<int>(std::clamp<index_t>(
      bit_ceil(divide_up(width * length, tuning.tile_elements)), std::max(32, width), limit));
}

// Sets kernel.threads, if there is such a member.
template <class Kernel>
auto set_threads(Kernel& kernel, int threads) -> decltype(void(kernel.threads)) {
  kernel.threads = threads;
}
inline void set_threads(...) {}

// Launches a kernel over all columns of `view`. Sets the kernel's members `width`, `rows_adjacent`
// and, if present, `threads`. Its shared memory must not depend on the length.
template <class T, class Grid, class Kernel>
void run_on_columns(Grid const& grid, Kernel kernel, tensor3<T> view) {
  extents3 const extents = view.extents();
  if (extents.empty()) return;
  permute_tuning const tuning = permute_tuning_of<std::remove_const_t<T>>(grid);
  index_t const columns = extents.batch * extents.channels;
  kernel.width =
      std::min(tile_width(grid.info(), tuning, 0, extents.length, columns), Kernel::max_threads);
  kernel.rows_adjacent = rows_are_adjacent(view.strides());
  int const threads =
      std::min(tile_threads(tuning, 0, extents.length, kernel.width), Kernel::max_threads);
  set_threads(kernel, threads);
  grid.run(kernel, divide_up(columns, kernel.width), threads);
}

SLICESORT_DETAIL_END
