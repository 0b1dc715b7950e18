// SPDX-License-Identifier: Apache-2.0
// slicing_sort on a grid.
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
  static void plan(Grid const& grid, extents3 const& e, arena& a) {
    a.overlap([&](arena& forward) { (void)sort_layout<T>(forward, grid, e); },
              [&](arena& backward) { (void)permute_layout<T>(backward, grid, e); });
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, slicing_sort_forward<Order, T> const& p, workspace w) {
    arena a(w);
    sort_layout<T> const m(a, grid, p.x.extents());
    index_rows const perm = p.saving ? index_rows(p.perm) : index_rows();
    sort_columns(grid, columns_view<T, Order>{p.order, p.x, p.y, perm, p.lengths}, m);
  }

  // The permutation holds the rows past a length too: no lengths are needed.
  template <class Grid, class T>
  static void backward(Grid const& grid, slicing_sort_backward<T> const& p, workspace w) {
    arena a(w);
    permute_layout<T> const m(a, grid, p.dy.extents());
    permute_columns(grid, column_permutation<T>{p.dy, p.dx, p.perm, false, p.mode}, m);
  }
};

SLICESORT_DETAIL_END
