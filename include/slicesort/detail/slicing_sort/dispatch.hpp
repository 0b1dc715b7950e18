// SPDX-License-Identifier: Apache-2.0
// slicing_sort on a grid.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/permute/kernel/permute_columns.hpp>
#include <slicesort/detail/slicing_sort/problem.hpp>
#include <slicesort/detail/sort/kernel/columns_view.hpp>
#include <slicesort/detail/sort/kernel/sort_columns.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Order>
struct grid_implementation<detail::slicing_sort_op<Order>> {
  // Forward and backward use the same memory.
  struct memory {
    sort_memory sort;
    permute_memory permute;
  };
  template <class T, class Grid>
  static memory plan(Grid const& grid, extents3 const& e, detail::arena& a) {
    memory m;
    detail::arena other = a;
    m.sort = plan_sort<T>(grid, e, a);
    m.permute = plan_permute<T>(grid, e, other);
    if (other.bytes() > a.bytes()) a = other;
    return m;
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, detail::slicing_sort_forward<Order, T> const& p,
                      workspace w) {
    detail::arena a(w);
    sort_memory const m = plan_sort<T>(grid, p.x.extents(), a);
    index_rows const perm = p.saving ? index_rows(p.perm) : index_rows();
    sort_columns(grid, columns_view<T, Order>{p.order, p.x, p.y, perm, p.lengths}, m);
  }

  // The permutation holds the rows past a length too: no lengths are needed.
  template <class Grid, class T>
  static void backward(Grid const& grid, detail::slicing_sort_backward<T> const& p, workspace w) {
    detail::arena a(w);
    permute_memory const m = plan_permute<T>(grid, p.dy.extents(), a);
    permute_columns(grid, column_permutation<T>{p.dy, p.dx, p.perm, false, p.mode}, m);
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
