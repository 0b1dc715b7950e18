// SPDX-License-Identifier: Apache-2.0
// permute on the host: the engine gathers forward, and scatters backward.
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
  static void plan(host_exec const& exec, extents3 const& e, arena& a) {
    (void)layout_of<T>(a, exec, e);
  }

  template <class T>
  static void forward(host_exec const& exec, permute_forward<T> const& p, workspace w) {
    columns_to_permute<T> all{p.x, p.y, p.perm};
    all.gather = true;
    all.lengths = p.lengths;
    run(exec, all, w);
  }
  template <class T>
  static void backward(host_exec const& exec, permute_backward<T> const& p, workspace w) {
    columns_to_permute<T> all{p.dy, p.dx, p.perm};
    all.mode = p.mode;
    all.lengths = p.lengths;
    run(exec, all, w);
  }

 private:
  template <class T>
  using layout = per_thread<permute_scratch<T>, extents3, unsigned>;
  template <class T>
  static layout<T> layout_of(arena& a, host_exec const& exec, extents3 e) {
    return {a, exec.threads, permute_task<T>(e, exec.threads).count(e), e, exec.threads};
  }

  template <class T>
  static void run(host_exec const& exec, columns_to_permute<T> const& all, workspace w) {
    arena a(w);
    layout<T> const each = layout_of<T>(a, exec, all.in.extents());
    permute_columns(exec, all, [&](unsigned slot) { return each[slot]; });
  }
};

SLICESORT_DETAIL_END
