// SPDX-License-Identifier: Apache-2.0
// permute on the host: forward gathers, backward scatters.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/permutation/host/permute_columns.hpp>
#include <slicesort/detail/permute/params.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <>
struct host_implementation<permute_op> {
  template <class T>
  static void plan(host_exec const& exec, extents3 const& extents, arena& memory) {
    (void)layout_of<T>(memory, exec, extents);
  }
  template <class T>
  static void forward(host_exec const& exec, transfer_forward<permute_op, T> const& params,
                      workspace w) {
    columns_to_permute<T> columns{params.x, params.y, params.state};
    columns.gather = true;
    columns.lengths = params.lengths;
    run(exec, columns, w);
  }
  template <class T>
  static void backward(host_exec const& exec, transfer_backward<permute_op, T> const& params,
                       workspace w) {
    columns_to_permute<T> columns{params.dy, params.dx, params.state};
    columns.mode = params.mode;
    columns.lengths = params.lengths;
    run(exec, columns, w);
  }

 private:
  template <class T>
  using layout = per_thread<permute_scratch<T>, extents3, unsigned>;
  template <class T>
  static layout<T> layout_of(arena& memory, host_exec const& exec, extents3 extents) {
    return {memory, exec.threads, permute_task<T>(extents, exec.threads).task_count(extents),
            extents, exec.threads};
  }
  template <class T>
  static void run(host_exec const& exec, columns_to_permute<T> const& columns, workspace w) {
    arena memory(w);
    layout<T> const scratch_per_thread = layout_of<T>(memory, exec, columns.x.extents());
    permute_columns(exec, columns, [&](unsigned thread) { return scratch_per_thread[thread]; });
  }
};

SLICESORT_DETAIL_END
