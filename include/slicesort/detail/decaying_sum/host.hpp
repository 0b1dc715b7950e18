// SPDX-License-Identifier: Apache-2.0
// decaying_sum on the host: a task for every chunk of channels of a sample, and sums of their
// gradients.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/decaying_sum/host/rows.hpp>
#include <slicesort/detail/decaying_sum/host/task.hpp>
#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Channels per task: wide, so rows are read in long pieces, unless the numbers would not fit in the
// caches or threads would stay idle.
inline index_t decay_columns(host_exec const& exec, decay_shape const& shape) {
  extents3 const e = shape.extents;
  if (shape.columns() == 0) return 1;
  auto const threads = static_cast<index_t>(exec.threads);
  index_t const chunks = e.batch < threads ? (threads + e.batch - 1) / e.batch : 1,
                vectors = (e.channels + 63) / 64, widest = std::max<index_t>(16 / shape.numbers, 1);
  return std::min(e.channels, 64 * std::min((vectors + chunks - 1) / chunks, widest));
}

template <class T>
struct decay_layout {
  column_chunks chunks;
  per_thread<decay_buffers<T>, decay_shape, index_t> thread_buffers;
  double* sums;  // [sample][da, dw][number][channel]

  decay_layout(arena& memory, host_exec const& exec, decay_shape const& shape)
      : chunks(shape.extents, decay_columns(exec, shape)),
        thread_buffers(memory, exec.threads, chunks.count(), shape, chunks.channels()),
        sums(shape.take_sums(memory)) {}
};

template <>
struct host_implementation<decaying_sum_op> {
  template <class T>
  static void plan(host_exec const& exec, decay_shape const& shape, arena& memory) {
    (void)decay_layout<T>(memory, exec, shape);
  }

  template <class T>
  static void forward(host_exec const& exec, decaying_sum_forward<T> const& params, workspace w) {
    if (params.x.extents().empty()) return copy_states(params.initial_state, params.final_state);
    arena memory(w);
    decay_layout<T> const layout(memory, exec, params.shape());
    for (int pass = 0; pass < params.config.passes; ++pass)
      for_each_chunk(
          exec, layout, decay_pass(params, pass),
          [](auto const& task, auto const& pass_params, index_t) { task.forward(pass_params); });
  }

  template <class T>
  static void backward(host_exec const& exec, decaying_sum_backward<T> const& params, workspace w) {
    arena memory(w);
    decay_layout<T> const layout(memory, exec, params.shape());
    index_t const size = params.shape().sums_per_sample();
    if (params.x.extents().empty()) copy_states(params.dfinal_state, params.dinitial_state);
    for (int pass = 0; pass < params.config.passes; ++pass) {
      decaying_sum_backward<T> const pass_params = decay_pass(params, pass);
      for_each_chunk(exec, layout, pass_params,
                     [&](auto const& task, auto const& p, index_t sample) {
                       task.backward(p, layout.sums + sample * size);
                     });
      sum_samples(pass_params, layout.sums);
    }
  }

 private:
  template <class T, class Params, class F>
  static void for_each_chunk(host_exec const& exec, decay_layout<T> const& layout,
                             Params const& params, F const& f) {
    auto const kernels = decay_kernels_of<T>(exec.instructions, params.config.is_complex,
                                             is_per_row(params.a, params.x.extents()));
    for_each_task(exec, layout.chunks.count(), [&](unsigned thread, index_t index) {
      sample_chunk const samples = layout.chunks[index];
      for (index_t s = 0; s < samples.batches; ++s)
        f(decay_task<T>(params, kernels, samples[s], layout.thread_buffers[thread]), params,
          samples[s].batch);
    });
  }

  // States of a sequence without rows, which needs no workspace.
  template <class A>
  static void copy_states(tensor4<A const> from, tensor4<A> to) {
    extents4 const e = to.extents();
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t j = 0; j < e.heads; ++j)
        for (index_t c = 0; c < e.channels; ++c)
          to(b, j, 0, c) = from.data() == nullptr ? A(0) : rounded<A>(from(b, j, 0, c));
  }

  // Computes dw and the gradient of a constant a.
  template <class T>
  static void sum_samples(decaying_sum_backward<T> const& params, double const* sums) {
    extents3 const e = params.x.extents();
    index_t const numbers = params.config.numbers(), size = params.shape().sums_per_sample(),
                  samples = e.empty() ? 0 : e.batch;
    auto const sum = [&](tensor4<T> to, index_t first_number, double scale) {
      with_store<T>(params.config.mode, [&](auto store) {
        for (index_t j = 0; j < numbers; ++j)
          for (index_t c = 0; c < e.channels; ++c) {
            double total = 0;
            for (index_t b = 0; b < samples; ++b)
              total += sums[b * size + (first_number + j) * e.channels + c];
            store.sum(to(0, j, 0, c), static_cast<accumulator_t<T>>(scale * total));
          }
      });
    };
    if (params.da.data() != nullptr && !is_per_row(params.da, e)) sum(params.da, 0, 1);
    if (params.dw.data() != nullptr) sum(params.dw, numbers, params.config.is_complex ? 2 : 1);
  }
};

SLICESORT_DETAIL_END
