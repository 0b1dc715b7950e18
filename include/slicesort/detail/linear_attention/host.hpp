// SPDX-License-Identifier: Apache-2.0
// linear_attention on the host: a task is a few heads of a sample. The code behind this file knows
// no policy, so that it is compiled once for each element type.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/linear_attention/host/causal.hpp>
#include <slicesort/detail/linear_attention/host/custom_feature.hpp>
#include <slicesort/detail/linear_attention/host/memory.hpp>
#include <slicesort/detail/linear_attention/host/noncausal.hpp>
#include <slicesort/detail/linear_attention/host/simd_table.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/host/w_gradient.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// The workspace of a call: memory for every thread, and the gradients of w of every head.
template <class A>
struct linear_layout {
  int together;
  per_thread<linear_memory<A>, linear_attention_shape, bool, int> each;
  gradients_of_w<A> of_w;

  linear_layout(arena& a, host_exec const& exec, linear_attention_shape const& s, bool backward)
      : together(s.empty() ? 1 : heads_together<A>(s, exec.threads)),
        each(a, exec.threads, s.empty() ? amount(0) : amount(s.batch) * groups_of(s), s, backward,
             together),
        of_w(a, s) {}

  index_t groups_of(linear_attention_shape const& s) const {
    return (s.heads + together - 1) / together;
  }
};

// Runs f(heads) for each group of heads of each sample: a head_group of linear_noncausal or
// linear_causal.
template <class T, class Call, class F>
void for_each_group(host_exec const& exec, Call const& p,
                    custom_feature<accumulator_t<T>> const& own,
                    linear_layout<accumulator_t<T>> const& layout, F const& f) {
  linear_attention_shape const s = p.shape();
  if (s.empty()) return;
  linear_attention_kernels<T> const use(exec.instructions);
  linear_setting<T> const of{use, s, p.lengths, p.divisor, own};
  index_t const groups = layout.groups_of(s);
  int const at_once = gain_by_interleaving(p.in, s) ? layout.together : 1;
  for_each_task(exec, s.batch * groups, [&](unsigned number, index_t task) {
    index_t const head = task % groups * layout.together, first = task / groups * s.heads + head;
    int const count = static_cast<int>(std::min<index_t>(layout.together, s.heads - head));
    auto const memory = layout.each[number];
    auto const run = [&](auto heads, index_t pair, int of_heads) {
      for (int h = 0; h < of_heads; ++h) {
        auto slot = memory.of_head(h);
        slot.w.gradient = layout.of_w.begin(pair + h);
        heads.add(p, of, slot, pair + h);
      }
      f(heads);
    };
    for (int h = 0; h < count; h += at_once)
      if (s.causal)
        run(head_group<linear_causal<T, Call>>(), first + h, std::min(at_once, count - h));
      else
        run(head_group<linear_noncausal<T, Call>>(), first + h, std::min(at_once, count - h));
    portable::finish_streaming<true>();
  });
}

template <class Feature>
struct host_implementation<linear_attention_op<Feature>> {
  template <class T>
  static void plan(host_exec const& exec, linear_attention_shape const& s, arena& a) {
    (void)linear_layout<accumulator_t<T>>(a, exec, s, true);
  }

  template <class T>
  static void forward(host_exec const& exec, linear_attention_forward<Feature, T> const& p,
                      workspace w);
  template <class T>
  static void backward(host_exec const& exec, linear_attention_backward<Feature, T> const& p,
                       workspace w);
};

template <class Feature>
template <class T>
void host_implementation<linear_attention_op<Feature>>::forward(
    host_exec const& exec, linear_attention_forward<Feature, T> const& p, workspace w) {
  using A = accumulator_t<T>;
  arena a(w);
  linear_layout<A> const layout(a, exec, p.shape(), false);
  for_each_group<T>(exec, p, custom_feature<A>::of(p.own), layout,
                    [&](auto& heads) { std::decay_t<decltype(heads)>::task::forward(heads, p.y); });
}
template <class Feature>
template <class T>
void host_implementation<linear_attention_op<Feature>>::backward(
    host_exec const& exec, linear_attention_backward<Feature, T> const& p, workspace w) {
  using A = accumulator_t<T>;
  arena a(w);
  linear_layout<A> const layout(a, exec, p.shape(), true);
  for_each_group<T>(exec, p, custom_feature<A>::of(p.own), layout, [&](auto& heads) {
    std::decay_t<decltype(heads)>::task::backward(heads, p.dy, p.to, p.mode);
  });
  if (p.to.dw.data() != nullptr) layout.of_w.add_up(exec, p.to.dw, p.mode);
}

SLICESORT_DETAIL_END
