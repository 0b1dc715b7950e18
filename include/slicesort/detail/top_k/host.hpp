// SPDX-License-Identifier: Apache-2.0
// top_k on the host. Forward selects rows column by column, or sorts columns and stores their first
// k rows where k is a large part of the length. Backward scatters k rows into zeros.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/sort/host/sort_columns.hpp>
#include <slicesort/detail/top_k/host/select_rows.hpp>
#include <slicesort/detail/top_k/params.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class Order>
struct host_implementation<top_k_op<Order>> {
  template <class T>
  static void plan(host_exec const& exec, top_k_shape const& shape, arena& memory) {
    if (shape.k == 0) return;
    if (sorts(shape))
      (void)sort_layout<T>(memory, exec, shape);
    else
      (void)select_layout<T>(memory, exec, shape);
  }

  template <class T>
  static void forward(host_exec const& exec, top_k_forward<Order, T> const& params, workspace w) {
    arena memory(w);
    top_k_shape const shape = params.shape();
    columns_to_sort<T, Order> columns{params.config.order, params.x, params.values, params.indices,
                                      params.lengths};
    columns.stored_rows = shape.k;
    if (sorts(shape)) {
      auto const layout = sort_layout<T>(memory, exec, shape);
      return sort_columns(exec, columns, [&](unsigned thread) { return layout[thread]; });
    }
    auto const layout = select_layout<T>(memory, exec, shape);
    isa const set = resolve_isa(exec.instructions);
    int const width = tile_width<T>(shape);
    for_each_task(exec, count_tiles(shape.x, width), [&](unsigned thread, index_t task) {
      column_tile<T> tile;
      set_up_tile(columns, columns_per_tile(shape.x, task, width), tile);
      select_tile(set, params, tile, layout[thread]);
      copy_rows_past_tile(tile);
    });
  }

  template <class T>
  static void backward(host_exec const& exec, top_k_backward<T> const& params, workspace) {
    extents3 const extents = params.dx.extents();
    index_t const k = params.dy.extents().length;
    for_each_column_chunk(exec, extents, [&](unsigned, column_chunk chunk) {
      if (params.mode == grad_mode::overwrite)
        for_each_element(params.dx, chunk, 0, extents.length,
                         [](index_t, index_t, T& element) { element = T{}; });
      with_index_type(params.indices, [&](auto indices) {
        with_store<T>(params.mode, [&](auto store) {
          for (index_t n = 0; n < k; ++n)
            for (index_t c = chunk.channel; c < chunk.channel + chunk.channels; ++c)
              store(params.dx(chunk.batch, static_cast<index_t>(indices(chunk.batch, n, c)), c),
                    params.dy(chunk.batch, n, c));
        });
      });
    });
  }

 private:
  template <class T>
  using sort_memory = per_thread<sort_scratch<T>, extents3, unsigned>;
  template <class T>
  using select_memory = per_thread<selection_scratch<T>, index_t, index_t, index_t, bool>;

  // True if columns are sorted as a whole, which is faster for short columns and large k.
  static bool sorts(top_k_shape const& shape) {
    return !shape.by_index && !shape.nan_last &&
           (shape.x.length < 512 || shape.k > shape.x.length / 4);
  }
  // Number of columns that a task loads together.
  template <class T>
  static int tile_width(top_k_shape const& shape) {
    return shape.x.channels == 1 ? 1 : radix_columns<T>;
  }
  template <class T>
  static sort_memory<T> sort_layout(arena& memory, host_exec const& exec,
                                    top_k_shape const& shape) {
    return {
        memory, exec.threads,
        amount(static_cast<std::size_t>(sort_task<T>(shape.x, exec.threads).task_count(shape.x))),
        shape.x, exec.threads};
  }
  template <class T>
  static select_memory<T> select_layout(arena& memory, host_exec const& exec,
                                        top_k_shape const& shape) {
    int const width = tile_width<T>(shape);
    index_t const tasks = shape.x.empty() ? 0 : count_tiles(shape.x, width);
    return select_memory<T>(memory, exec.threads, amount(static_cast<std::size_t>(tasks)), width,
                            shape.x.length, shape.k, shape.by_index);
  }

  template <class T>
  static void select_tile(isa set, top_k_forward<Order, T> const& params,
                          column_tile<T> const& tile, selection_scratch<T> const& scratch) {
    bool const contiguous = tile.x_layout.pitch == 1 || tile.rows <= 1;
    if (!contiguous) {
      bits_t<T> lost_bits[static_cast<std::size_t>(radix_columns<T>)] = {};
      load_columns(tile, scratch.keys, scratch.pitch, lost_bits);
    }
    for (int c = 0; c < tile.width; ++c) {
      column_selection<T> column = scratch.column;
      T const* const x = tile.x + tile.x_layout.start[c];
      column.x = contiguous ? x : nullptr;
      column.keys = scratch.keys + c * scratch.pitch;
      column.rows = static_cast<std::size_t>(tile.valid[c]);
      column.k = std::min(column.rows, static_cast<std::size_t>(params.config.k));
      column.descending_mask = tile.descending_mask[c];
      column.by_index = params.config.by_index;
      column.nan_last = params.config.nan_last && tile.descending_mask[c] != 0;
      if (column.k > 0) store(tile, c, select_rows(set, column), column.k);
      for (index_t i = tile.valid[c]; i < std::min(tile.rows, tile.stored_rows); ++i)
        copy_tile_row(tile, c, i, i);
    }
  }
  template <class T, class Candidate>
  static void store(column_tile<T> const& tile, int c, Candidate const* selected, std::size_t k) {
    for (std::size_t i = 0; i < k; ++i)
      copy_tile_row(tile, c, static_cast<index_t>(i), static_cast<index_t>(selected[i].row()));
  }
};

SLICESORT_DETAIL_END
