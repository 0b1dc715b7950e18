// SPDX-License-Identifier: Apache-2.0
// Device backend of merge_attention: launches a single kernel.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/merge_attention/device/merge_rows.hpp>
#include <slicesort/detail/merge_attention/params.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <>
struct device_implementation<merge_attention_op> : needs_no_workspace {
  template <class Grid, class T>
  static void forward(Grid const& grid, merge_attention_forward<T> const& params, workspace) {
    constexpr int vector_width = 16 / static_cast<int>(sizeof(T));
    bool vectorized = can_vectorize<vector_width>(params.y);
    for (auto const& part : params.parts)
      vectorized = vectorized && (part.y.data() == nullptr || can_vectorize<vector_width>(part.y));
    if (vectorized)
      launch<vector_width>(grid, params);
    else
      launch<1>(grid, params);
  }

 private:
  // True if every row consists of whole, aligned vectors.
  template <int Wide, class T>
  static bool can_vectorize(tensor4<T> const& v) {
    extents4 const e = v.extents();
    strides4 const s = v.strides();
    auto const is_aligned = [](index_t extent, index_t stride) {
      return extent <= 1 || stride % Wide == 0;
    };
    return reinterpret_cast<std::uintptr_t>(v.data()) % (sizeof(T) * Wide) == 0 &&
           e.channels % Wide == 0 && (e.channels <= 1 || s.channels == 1) &&
           is_aligned(e.batch, s.batch) && is_aligned(e.heads, s.heads) &&
           is_aligned(e.length, s.length);
  }

  template <int Wide, class Grid, class T>
  static void launch(Grid const& grid, merge_attention_forward<T> const& params) {
    extents4 const e = params.shape();
    using Kernel = merge_attention_kernel<T, Wide>;
    Kernel kernel{};
    std::copy(params.parts.begin(), params.parts.end(), kernel.parts);
    kernel.part_count = params.count;
    kernel.y = params.y;
    if (params.saving) kernel.state = params.state;
    // Chooses enough threads for the vectors of a row or the rows of a head. Each thread handles
    // several rows.
    int threads = Kernel::max_threads;
    kernel.threads_per_row = static_cast<int>(
        std::min<index_t>(bit_ceil(divide_up(e.channels, index_t{Wide})), threads));
    while (threads > warp_threads && threads > kernel.threads_per_row &&
           threads / kernel.threads_per_row >= 2 * e.length)
      threads /= 2;
    constexpr int rows_per_thread = 4;
    kernel.rows_per_block =
        std::min(rows_per_thread * (threads / kernel.threads_per_row), Kernel::max_threads);
    grid.run(kernel, kernel.blocks(), threads);
  }
};

SLICESORT_DETAIL_END
