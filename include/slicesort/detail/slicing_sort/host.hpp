// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the host: forward sorts columns, backward applies the inverse permutations.
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
  static void plan(host_exec const& exec, extents3 const& extents, arena& memory) {
    (void)layout_of<T>(memory, exec, extents);
  }
  template <class T>
  static void forward(host_exec const& exec,
                      transfer_forward<slicing_sort_op<Order>, T> const& params, workspace w) {
    arena memory(w);
    layout<T> const scratch_per_thread = layout_of<T>(memory, exec, params.x.extents());
    index_tensor3 const perm = params.saving ? params.state : index_tensor3();
    sort_columns(
        exec,
        columns_to_sort<T, Order>{params.config.order, params.x, params.y, perm, params.lengths},
        [&](unsigned thread) { return scratch_per_thread[thread].sort; });
  }
  template <class T>
  static void backward(host_exec const& exec,
                       transfer_backward<slicing_sort_op<Order>, T> const& params, workspace w) {
    arena memory(w);
    layout<T> const scratch_per_thread = layout_of<T>(memory, exec, params.dy.extents());
    columns_to_permute<T> columns{params.dy, params.dx, params.state};
    columns.mode = params.mode;
    columns.lengths = params.lengths;
    permute_columns(exec, columns,
                    [&](unsigned thread) { return scratch_per_thread[thread].permute; });
  }

 private:
  // Scratch memory of a thread: for the sort in forward, or for the tiles that backward scatters
  // into.
  template <class T>
  struct thread_scratch {
    sort_scratch<T> sort;
    permute_scratch<T> permute;

    thread_scratch(arena& memory, extents3 extents, unsigned threads) {
      memory.overlap(
          [&](arena& forward) { sort = sort_scratch<T>(forward, extents, threads); },
          [&](arena& backward) { permute = permute_scratch<T>(backward, extents, threads); });
    }
  };
  template <class T>
  using layout = per_thread<thread_scratch<T>, extents3, unsigned>;
  template <class T>
  static layout<T> layout_of(arena& memory, host_exec const& exec, extents3 extents) {
    return {memory, exec.threads, sort_task<T>(extents, exec.threads).task_count(extents), extents,
            exec.threads};
  }
};

SLICESORT_DETAIL_END
