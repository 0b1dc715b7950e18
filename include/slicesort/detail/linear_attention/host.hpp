// SPDX-License-Identifier: Apache-2.0
// Host backend of linear_attention. A task computes a few heads of a sample. The headers included
// here do not depend on policy types, so they are compiled once per element type.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/linear_attention/host/causal.hpp>
#include <slicesort/detail/linear_attention/host/erased_feature.hpp>
#include <slicesort/detail/linear_attention/host/memory.hpp>
#include <slicesort/detail/linear_attention/host/noncausal.hpp>
#include <slicesort/detail/linear_attention/host/simd_table.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/host/w_gradient.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Workspace of a call: per-thread memory, the partial gradients of w per head, and the position of
// each sample of a call with states.
template <class A>
struct linear_layout {
  // Query heads of a task: heads that it may interleave, or heads of one group, which share S, Z.
  // A task of backward computes a whole group, because U and u are sums over its heads, and so does
  // a task with states, because the last state may replace the initial one.
  bool is_grouped;
  index_t task_heads;
  per_thread<linear_thread_memory<A>, linear_attention_shape, bool, int> threads;
  partial_w_gradients<A> partial_dw;
  linear_position* positions;

  linear_layout(arena& memory, host_exec const& exec, linear_attention_shape const& s,
                bool backward)
      : is_grouped(!s.empty() && s.group() != 1),
        task_heads(s.empty()                  ? 1
                   : !is_grouped              ? heads_per_task<A>(s, exec.threads)
                   : backward || s.with_state ? s.group()
                                              : group_heads_per_task(s, exec.threads)),
        threads(memory, exec.threads, s.empty() ? amount(0) : amount(s.batch) * tasks_per_sample(s),
                s, backward, is_grouped ? 1 : static_cast<int>(task_heads)),
        partial_dw(memory, s),
        positions(memory.take<linear_position>(s.with_state ? s.batch : 0)) {}

  index_t tasks_per_group(index_t group) const { return (group + task_heads - 1) / task_heads; }
  index_t tasks_per_sample(linear_attention_shape const& s) const {
    index_t const group = is_grouped ? s.group() : s.heads;
    return s.heads / group * tasks_per_group(group);
  }
};

// Calls f(heads) for the heads of each task, an interleaved_heads<linear_noncausal> or
// interleaved_heads<linear_causal>.
template <class T, class Params, class F>
void for_each_head_group(host_exec const& exec, Params const& params,
                         erased_feature<accumulator_t<T>> const& custom_feature,
                         linear_layout<accumulator_t<T>> const& layout, F const& f) {
  linear_attention_shape const s = params.shape();
  if (s.empty()) return;
  linear_attention_kernels<T> const kernels(exec.instructions);
  for (index_t b = 0; b < s.batch && s.with_state; ++b)
    layout.positions[b] = position_of(params.states.initial, b);
  linear_context<T> const context(kernels, params, s, custom_feature, layout.positions);
  index_t const tasks = layout.tasks_per_sample(s), group = layout.is_grouped ? s.group() : s.heads,
                group_tasks = layout.tasks_per_group(group);
  bool const interleaves = !layout.is_grouped && should_interleave_heads(params.in, s);
  for_each_task(exec, s.batch * tasks, [&](unsigned thread, index_t task) {
    index_t const head = task % group_tasks * layout.task_heads,
                  first = task / group_tasks * group + head;
    index_t const count = std::min<index_t>(layout.task_heads, group - head);
    auto const thread_memory = layout.threads[thread];
    auto const run_heads = [&](auto heads, index_t pair, index_t heads_count) {
      int const interleaved = layout.is_grouped ? 1 : static_cast<int>(heads_count);
      for (int h = 0; h < interleaved; ++h) {
        auto memory = thread_memory.task(h);
        memory.w.gradient = layout.partial_dw.clear_partial((pair + h) / s.group());
        heads.add(context, memory, pair + h, layout.is_grouped ? heads_count : 1);
      }
      f(heads);
    };
    index_t const step = interleaves || layout.is_grouped ? count : 1;
    for (index_t h = 0; h < count; h += step)
      if (s.causal)
        run_heads(interleaved_heads<linear_causal<T>>(), first + h, step);
      else
        run_heads(interleaved_heads<linear_noncausal<T>>(), first + h, step);
    portable::finish_streaming<true>();
  });
}

template <class Feature>
struct host_implementation<linear_attention_op<Feature>> {
  template <class T>
  static void plan(host_exec const& exec, linear_attention_shape const& s, arena& memory) {
    using layout = linear_layout<accumulator_t<T>>;
    memory.overlap([&](arena& forward) { (void)layout(forward, exec, s, false); },
                   [&](arena& backward) { (void)layout(backward, exec, s, true); });
  }

  template <class T>
  static void forward(host_exec const& exec, linear_attention_forward<Feature, T> const& params,
                      workspace memory);
  template <class T>
  static void backward(host_exec const& exec, linear_attention_backward<Feature, T> const& params,
                       workspace memory);
};

template <class Feature>
template <class T>
void host_implementation<linear_attention_op<Feature>>::forward(
    host_exec const& exec, linear_attention_forward<Feature, T> const& params, workspace memory) {
  using A = accumulator_t<T>;
  arena allocator(memory);
  linear_layout<A> const layout(allocator, exec, params.shape(), false);
  for_each_head_group<T>(exec, params, erased_feature<A>::make(params.custom_feature), layout,
                         [&](auto& heads) { heads.forward(params.y); });
}
template <class Feature>
template <class T>
void host_implementation<linear_attention_op<Feature>>::backward(
    host_exec const& exec, linear_attention_backward<Feature, T> const& params, workspace memory) {
  using A = accumulator_t<T>;
  arena allocator(memory);
  linear_layout<A> const layout(allocator, exec, params.shape(), true);
  for_each_head_group<T>(
      exec, params, erased_feature<A>::make(params.custom_feature), layout,
      [&](auto& heads) { heads.backward(params.dy, params.grads, params.mode); });
  if (params.grads.dw.data() != nullptr)
    layout.partial_dw.reduce(exec, params.grads.dw, params.mode);
}

SLICESORT_DETAIL_END
