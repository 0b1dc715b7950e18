// SPDX-License-Identifier: Apache-2.0
// top_k on the device: a block selects the rows of a column; backward scatters them.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/top_k/device/select_rows.hpp>
#include <slicesort/detail/top_k/params.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Launch of a selection, and the memory of sorts that do not fit in shared memory.
template <class T>
struct selection_layout {
  int threads = 0;
  index_t chunk_columns = 0;  // columns of a launch
  index_t capacity = 0;       // entries of a sort; 0 if the output is not sorted
  bool sorts_in_shared = false;
  bits_t<T>* keys = nullptr;      // [chunk_columns, capacity]
  std::uint32_t* rows = nullptr;  // [chunk_columns, capacity]

  template <class Grid>
  selection_layout(arena& memory, Grid const& grid, top_k_shape const& shape) {
    if (shape.x.empty() || shape.k == 0) return;
    constexpr index_t rows_per_thread = 8;
    threads = static_cast<int>(
        std::clamp<index_t>(bit_ceil(divide_up(shape.x.length, rows_per_thread)), 32, 256));
    chunk_columns = shape.x.batch * shape.x.channels;
    if (shape.by_index) return;
    capacity = bit_ceil(shape.k);
    constexpr std::size_t entry_bytes = sizeof(T) + sizeof(std::uint32_t), counter_bytes = 20480;
    sorts_in_shared = static_cast<std::size_t>(capacity) * entry_bytes + counter_bytes <=
                      std::min<std::size_t>(sort_tuning_of<T>(grid).tile_bytes, 65536);
    if (sorts_in_shared) return;
    chunk_columns =
        std::clamp<index_t>(grid_tuning_of<T>(grid).chunk_elements / capacity, 1, chunk_columns);
    auto const entries = static_cast<std::size_t>(chunk_columns * capacity);
    keys = memory.take<bits_t<T>>(entries);
    rows = memory.take<std::uint32_t>(entries);
  }
};

template <class Order>
struct device_implementation<top_k_op<Order>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, top_k_shape const& shape, arena& memory) {
    (void)selection_layout<T>(memory, grid, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, top_k_forward<Order, T> const& params, workspace w) {
    arena memory(w);
    selection_layout<T> const layout(memory, grid, params.shape());
    if (layout.threads == 0) return;
    index_t const columns = params.x.extents().batch * params.x.extents().channels;
    select_rows_kernel<T, Order> kernel{params.config, params.x, params.values,
                                        index_rows(params.indices), params.lengths};
    kernel.threads = layout.threads;
    kernel.capacity = layout.capacity;
    kernel.sorts_in_shared = layout.sorts_in_shared;
    kernel.workspace_keys = layout.keys, kernel.workspace_rows = layout.rows;
    for (index_t first = 0; first < columns; first += layout.chunk_columns) {
      kernel.first_column = first;
      grid.run(kernel, std::min(layout.chunk_columns, columns - first), layout.threads);
    }
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, top_k_backward<T> const& params, workspace) {
    scatter_selected_kernel<T> kernel{params.dy, index_rows(params.indices), params.dx,
                                      params.mode};
    run_on_columns(grid, kernel, params.dx);
  }
};

SLICESORT_DETAIL_END
