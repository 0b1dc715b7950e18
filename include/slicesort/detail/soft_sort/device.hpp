// SPDX-License-Identifier: Apache-2.0
// soft_sort and soft_rank on the device: sorts columns, then solves the isotonic regressions.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/slices.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/soft_sort/device/solve_columns.hpp>
#include <slicesort/detail/soft_sort/params.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class Form, class Order>
struct device_implementation<soft_operation<Form, Order>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, extents3 const& extents, arena& memory) {
    (void)layout<T>(memory, grid, extents);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, soft_sort_forward<Form, Order, T> const& params,
                      workspace w) {
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, e);
    for (index_t first = 0; first < e.batch; first += buffers.samples) {
      extents3 const chunk{std::min(buffers.samples, e.batch - first), e.length, e.channels};
      index_rows perm;
      if (params.saving)
        perm = slice_batch(index_rows(params.perm), first);
      else if (Form::ranks)
        perm = row_numbers_view(buffers.perm, chunk, row_major(chunk));
      solve_columns_kernel<T, Order, Form::ranks> kernel{};
      kernel.config = params.config;
      kernel.inverse_strength = inverse_strength(params.config.strength);
      kernel.y = slice_batch(params.y, first, chunk);
      kernel.perm = perm;
      if (params.saving) kernel.pools = slice_batch(index_rows(params.pools), first);
      kernel.lengths = slice_batch(params.lengths, first, chunk);
      sort_columns(grid,
                   columns_view<T, Order>{params.config.order, slice_batch(params.x, first, chunk),
                                          kernel.y, perm, kernel.lengths},
                   buffers.sort);
      run(grid, kernel, buffers, chunk);
    }
  }
  template <class Grid, class T>
  static void backward(Grid const& grid, soft_sort_backward<Form, Order, T> const& params,
                       workspace w) {
    extents3 const e = params.dy.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, e);
    gradient_columns_kernel<T, Order, Form::ranks> kernel{};
    kernel.config = params.config;
    kernel.inverse_strength = inverse_strength(params.config.strength);
    kernel.dy = params.dy;
    kernel.x = params.x;
    kernel.perm = index_rows(params.perm);
    kernel.pools = index_rows(params.pools);
    kernel.dx = params.dx;
    kernel.mode = params.mode;
    kernel.lengths = params.lengths;
    run(grid, kernel, buffers, e);
  }

 private:
  // Samples are sorted, and their columns solved, in chunks that limit the workspace.
  template <class T>
  struct layout {
    index_t samples = 0, columns = 0;  // per chunk
    sort_layout<T> sort;
    void* perm = nullptr;  // soft_rank: permutation of a chunk of samples, if it is not saved
    soft_columns<T> memory{};

    template <class Grid>
    layout(arena& arena, Grid const& grid, extents3 e) {
      if (e.empty()) return;
      index_t const elements = grid_tuning_of<T>(grid).chunk_elements;
      samples = std::clamp<index_t>(elements / (e.length * e.channels), 1, e.batch);
      columns = std::clamp<index_t>(elements / e.length, 1, e.batch * e.channels);
      extents3 const chunk{samples, e.length, e.channels};
      sort = sort_layout<T>(arena, grid, chunk);
      if (Form::ranks) perm = allocate_row_numbers(arena, chunk);
      auto const size = static_cast<std::size_t>(columns * e.length);
      memory.starts = arena.template take<std::uint32_t>(size);
      memory.sums = arena.template take<double>(size);
      memory.weights = arena.template take<double>(size);
      memory.results = arena.template take<T>(size);
    }
  };

  template <class Grid, class Kernel, class T>
  static void run(Grid const& grid, Kernel kernel, layout<T> const& buffers, extents3 e) {
    index_t const columns = e.batch * e.channels;
    constexpr int threads = Kernel::max_threads;
    kernel.columns = buffers.memory;
    for (index_t first = 0; first < columns; first += buffers.columns) {
      kernel.columns.first = first;
      kernel.columns.count = std::min(buffers.columns, columns - first);
      grid.run(kernel, divide_up(kernel.columns.count, threads), threads);
    }
  }
};

SLICESORT_DETAIL_END
