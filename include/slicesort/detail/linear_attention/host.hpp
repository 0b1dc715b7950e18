// SPDX-License-Identifier: Apache-2.0
// linear_attention on the host: a task is a head of a sample. The code behind this file knows no
// policy, so that it is compiled once for each element type.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/slots.hpp>
#include <slicesort/detail/linear_attention/host/both.hpp>
#include <slicesort/detail/linear_attention/host/causal.hpp>
#include <slicesort/detail/linear_attention/host/gradient_of_w.hpp>
#include <slicesort/detail/linear_attention/host/head.hpp>
#include <slicesort/detail/linear_attention/host/kernels.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/workspace.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The workspace of a call: a slot for every thread, and the gradients of w of every head.
template <class A>
struct linear_layout {
  slots<linear_slot<A>, detail::linear_attention_shape, bool> each;
  gradients_of_w<A> of_w;

  template <class Exec>
  linear_layout(detail::arena& a, Exec const& on, detail::linear_attention_shape const& s,
                bool backward)
      : each(a, on.threads, s.empty() ? detail::amount(0) : detail::amount(s.batch) * s.heads, s,
             backward),
        of_w(a, s) {}
};

// Runs f(task) for each head of each sample, where a task is a linear_both or linear_causal.
template <class T, class Exec, class Call, class F>
void for_each_head(Exec const& on, Call const& p, own_feature<detail::accumulator_t<T>> const& own,
                   linear_layout<detail::accumulator_t<T>> const& layout, F const& f) {
  detail::linear_attention_shape const s = p.shape();
  if (s.empty()) return;
  linear_attention_kernels<T> const use(on.instructions);
  linear_setting<T> const of{use, s, p.lengths, p.divisor, own};
  for_each_task(on, s.pairs(), [&](unsigned number, index_t pair) {
    auto slot = layout.each[number];
    slot.w.gradient = layout.of_w.begin(pair);
    if (s.causal)
      f(linear_causal<T, Call>(p, of, slot, pair));
    else
      f(linear_both<T, Call>(p, of, slot, pair));
  });
}

template <class Feature>
struct implementation<detail::linear_attention_op<Feature>, detail::host_backend> {
  template <class Exec>
  static void check(Exec const& on, detail::checker& c) {
    check_host(on, c);
  }
  template <class T, class Exec>
  static void plan(Exec const& on, detail::linear_attention_shape const& s, detail::arena& a) {
    (void)linear_layout<detail::accumulator_t<T>>(a, on, s, true);
  }

  template <class Exec, class T>
  static void forward(Exec const& on, detail::linear_attention_forward<Feature, T> const& p,
                      workspace w);
  template <class Exec, class T>
  static void backward(Exec const& on, detail::linear_attention_backward<Feature, T> const& p,
                       workspace w);
};

template <class Feature>
template <class Exec, class T>
void implementation<detail::linear_attention_op<Feature>, detail::host_backend>::forward(
    Exec const& on, detail::linear_attention_forward<Feature, T> const& p, workspace w) {
  using A = detail::accumulator_t<T>;
  detail::arena a(w);
  linear_layout<A> const layout(a, on, p.shape(), false);
  for_each_head<T>(on, p, own_feature<A>::of(p.own), layout,
                   [&](auto const& task) { task.forward(p.y); });
}
template <class Feature>
template <class Exec, class T>
void implementation<detail::linear_attention_op<Feature>, detail::host_backend>::backward(
    Exec const& on, detail::linear_attention_backward<Feature, T> const& p, workspace w) {
  using A = detail::accumulator_t<T>;
  detail::arena a(w);
  linear_layout<A> const layout(a, on, p.shape(), true);
  for_each_head<T>(on, p, own_feature<A>::of(p.own), layout,
                   [&](auto const& task) { task.backward(p.dy, p.to, p.mode); });
  if (p.to.dw.data() != nullptr) layout.of_w.add_up(on, p.to.dw, p.mode);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
