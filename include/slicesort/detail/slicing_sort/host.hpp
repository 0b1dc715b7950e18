// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the host: forward sorts columns, backward transposes their permutations.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/permutation/host/permute_columns.hpp>
#include <slicesort/detail/slicing_sort/params.hpp>
#include <slicesort/detail/sort/host/sort_columns.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class Order>
struct host_implementation<slicing_sort_op<Order>> {
  template <class T>
  static void plan(host_exec const& exec, extents3 const& e, arena& a) {
    (void)layout_of<T>(a, exec, e);
  }

  template <class T>
  static void forward(host_exec const& exec, slicing_sort_forward<Order, T> const& p, workspace w) {
    arena a(w);
    extents3 const e = p.x.extents();
    layout<T> const each = layout_of<T>(a, exec, e);
    index_tensor3 const perm = p.saving ? p.perm : index_tensor3();
    sort_columns(exec, columns_to_sort<T, Order>{p.order, p.x, p.y, perm, p.lengths},
                 [&](unsigned slot) { return each[slot].sort; });
  }

  template <class T>
  static void backward(host_exec const& exec, slicing_sort_backward<T> const& p, workspace w) {
    arena a(w);
    layout<T> const each = layout_of<T>(a, exec, p.dy.extents());
    columns_to_permute<T> all{p.dy, p.dx, p.perm};
    all.mode = p.mode;
    all.lengths = p.lengths;
    permute_columns(exec, all, [&](unsigned slot) { return each[slot].permute; });
  }

 private:
  // What forward sorts in, or the tiles that backward scatters into.
  template <class T>
  struct slot_layout {
    sort_scratch<T> sort;
    permute_scratch<T> permute;

    slot_layout(arena& a, extents3 e, unsigned threads) {
      a.overlap([&](arena& forward) { sort = sort_scratch<T>(forward, e, threads); },
                [&](arena& backward) { permute = permute_scratch<T>(backward, e, threads); });
    }
  };
  template <class T>
  using layout = per_thread<slot_layout<T>, extents3, unsigned>;
  template <class T>
  static layout<T> layout_of(arena& a, host_exec const& exec, extents3 e) {
    return {a, exec.threads, sort_task<T>(e, exec.threads).count(e), e, exec.threads};
  }
};

SLICESORT_DETAIL_END
