// SPDX-License-Identifier: Apache-2.0
// sinkhorn on the host. Small matrices are processed 128 bytes of lanes at a time, one matrix per
// lane (host/small_matrices.hpp). In a large matrix, lanes are neighboring rows or columns
// (host/large_matrix.hpp).
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/sinkhorn/host/large_matrix.hpp>
#include <slicesort/detail/sinkhorn/host/small_matrices.hpp>
#include <slicesort/detail/sinkhorn/host/tile_kernels.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <>
struct host_implementation<sinkhorn_op> {
  template <class T>
  static void plan(host_exec const& exec, sinkhorn_shape const& shape, arena& memory) {
    using A = accumulator_t<T>;
    if (shape.is_small())
      (void)small_layout<A>(memory, exec, shape);
    else
      (void)large_layout<A>(memory, exec, shape);
  }

  template <class T>
  static void forward(host_exec const& exec, sinkhorn_forward<T> const& params, workspace w) {
    run(exec, params, w, [](auto matrices) { matrices.forward(); });
  }
  template <class T>
  static void backward(host_exec const& exec, sinkhorn_backward<T> const& params, workspace w) {
    run(exec, params, w, [](auto matrices) { matrices.backward(); });
  }

 private:
  // Groups of small matrices per task.
  static constexpr index_t groups_per_task = 16;

  template <class A>
  static index_t small_groups(extents3 e) {
    return e.empty() ? 0 : (e.batch + sinkhorn_lanes<A> - 1) / sinkhorn_lanes<A>;
  }

  template <class A>
  struct small_layout {
    index_t groups, tasks;
    per_thread<small_matrix_buffers<A>, sinkhorn_shape> buffers;

    small_layout(arena& memory, host_exec const& exec, sinkhorn_shape const& shape)
        : groups(small_groups<A>(shape.extents)),
          tasks((groups + groups_per_task - 1) / groups_per_task),
          buffers(memory, exec.threads, tasks, shape) {}
  };
  template <class A>
  struct large_layout {
    per_thread<large_matrix_tiles<A>, sinkhorn_shape> tiles;
    per_thread<large_matrix_vectors<A>, sinkhorn_shape> vectors;

    large_layout(arena& memory, host_exec const& exec, sinkhorn_shape const& shape)
        : tiles(memory, exec.threads,
                amount(shape.extents.empty() ? 0 : shape.extents.batch) * shape.longer_side(),
                shape),
          vectors(memory, exec.threads, shape.extents.empty() ? 0 : shape.extents.batch, shape) {}
  };

  template <class Params, class F>
  static void run(host_exec const& exec, Params const& params, workspace w, F const& f) {
    using T = typename Params::element;
    using A = accumulator_t<T>;
    sinkhorn_shape const shape = params.shape();
    extents3 const e = shape.extents;
    if (e.empty()) return;
    arena memory(w);
    sinkhorn_kernels<T> const kernels = sinkhorn_kernels_of<T>(exec.instructions);
    if (shape.is_small()) {
      small_layout<A> const layout(memory, exec, shape);
      for_each_task(exec, layout.tasks, [&](unsigned thread, index_t task) {
        index_t const first = task * groups_per_task;
        index_t const end = std::min(first + groups_per_task, layout.groups);
        for (index_t group = first; group < end; ++group)
          f(small_matrices<Params>(kernels, params, group, layout.buffers[thread]));
      });
      return;
    }
    large_layout<A> const layout(memory, exec, shape);
    auto const run_sample = [&](host_exec const& group_exec, index_t batch, unsigned thread) {
      f(large_matrix<Params>(kernels, params, batch, layout.vectors[thread], layout.tiles, thread,
                             group_exec));
    };
    if (e.batch < static_cast<index_t>(exec.threads)) {  // threads share each sample
      for (index_t b = 0; b < e.batch; ++b) run_sample(exec, b, 0);
    } else {
      serial_exec const serial{exec.instructions};
      for_each_task(exec, e.batch,
                    [&](unsigned thread, index_t b) { run_sample(host_exec(serial), b, thread); });
    }
  }

  // A policy of one thread, for calls within a task.
  struct serial_exec {
    isa instructions;
    static constexpr unsigned threads = 1;
    template <class F>
    void parallel_for(unsigned, F const& f) const {
      f(0u);
    }
  };
};

SLICESORT_DETAIL_END
