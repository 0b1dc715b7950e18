// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the device: forward sorts columns, backward applies the inverse permutations.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/permutation/device/permute_columns.hpp>
#include <slicesort/detail/slicing_sort/params.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class Order>
struct device_implementation<slicing_sort_op<Order>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, extents3 const& extents, arena& memory) {
    memory.overlap([&](arena& forward) { (void)sort_layout<T>(forward, grid, extents); },
                   [&](arena& backward) { (void)permute_layout<T>(backward, grid, extents); });
  }
  template <class Grid, class T>
  static void forward(Grid const& grid, transfer_forward<slicing_sort_op<Order>, T> const& params,
                      workspace w) {
    arena memory(w);
    sort_layout<T> const layout(memory, grid, params.x.extents());
    index_rows const perm = params.saving ? index_rows(params.state) : index_rows();
    sort_columns(
        grid, columns_view<T, Order>{params.config.order, params.x, params.y, perm, params.lengths},
        layout);
  }
  // Needs no lengths, because the saved permutation maps padding rows to themselves.
  template <class Grid, class T>
  static void backward(Grid const& grid, transfer_backward<slicing_sort_op<Order>, T> const& params,
                       workspace w) {
    arena memory(w);
    permute_layout<T> const layout(memory, grid, params.dy.extents());
    permute_columns(grid, column_transfer<T>{params.dy, params.dx, /*gather=*/false, params.mode},
                    index_rows(params.state), layout);
  }
};

SLICESORT_DETAIL_END
