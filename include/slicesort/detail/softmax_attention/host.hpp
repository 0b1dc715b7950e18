// SPDX-License-Identifier: Apache-2.0
// softmax_attention on the host. The code behind this file knows no mask, so that it is compiled
// once for each element type.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/softmax_attention/host/backward.hpp>
#include <slicesort/detail/softmax_attention/host/forward.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/materialized.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class Mask>
struct host_implementation<streaming_attention_op<Mask>> {
  template <class T>
  static void plan(host_exec const& on, attention_shape const& s, arena& a) {
    constexpr bool sparse = is_sparse<Mask>;
    a.overlap(
        [&](arena& forward) { (void)streaming_forward_layout<T>(forward, on, s, sparse); },
        [&](arena& backward) {
          backward.overlap(
              [&](arena& of_heads) { (void)streaming_backward_layout<T>(of_heads, on, s, sparse); },
              [&](arena& shared) { (void)shared_bias_layout<T>(shared, on, s, sparse); });
        });
  }

  template <class Problem>
  static void forward(host_exec const& on, Problem const& p, workspace w);
  template <class Problem>
  static void backward(host_exec const& on, Problem const& p, workspace w);
};

template <class Mask>
template <class Problem>
void host_implementation<streaming_attention_op<Mask>>::forward(host_exec const& on,
                                                                Problem const& p, workspace w) {
  streaming_forward(on, attention_rule::of(p), p.in, p.y, p.state, w);
}
template <class Mask>
template <class Problem>
void host_implementation<streaming_attention_op<Mask>>::backward(host_exec const& on,
                                                                 Problem const& p, workspace w) {
  streaming_backward(on, attention_rule::of(p), p.in, p.state, {p.dy, p.y, p.to, p.mode}, w);
}

template <class Mask>
struct host_implementation<materialized_attention_op<Mask>> {
  template <class T>
  static void plan(host_exec const& on, attention_shape const& s, arena& a) {
    a.overlap([&](arena& of_heads) { (void)attention_map_layout<T>(of_heads, on, s); },
              [&](arena& shared) { (void)shared_bias_map_layout<T>(shared, on, s); });
  }

  template <class Problem>
  static void forward(host_exec const& on, Problem const& p, workspace w);
  template <class Problem>
  static void backward(host_exec const& on, Problem const& p, workspace w);
};

template <class Mask>
template <class Problem>
void host_implementation<materialized_attention_op<Mask>>::forward(host_exec const& on,
                                                                   Problem const& p, workspace w) {
  materialized_forward(on, attention_rule::of(p), p.in, p.y, p.state, w);
}
template <class Mask>
template <class Problem>
void host_implementation<materialized_attention_op<Mask>>::backward(host_exec const& on,
                                                                    Problem const& p, workspace w) {
  materialized_backward(on, attention_rule::of(p), p.in, p.state, {p.dy, p.y, p.to, p.mode}, w);
}

SLICESORT_DETAIL_END
