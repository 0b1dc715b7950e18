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
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/workspace.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Mask>
struct implementation<detail::streaming_attention_op<Mask>, detail::host_backend> {
  static void check(host_exec const& on, detail::checker& c) { check_host(on, c); }
  template <class T>
  static void plan(host_exec const& on, detail::attention_shape const& s, detail::arena& a) {
    constexpr bool sparse = detail::is_sparse<Mask>;
    a.overlap(
        [&](detail::arena& forward) { (void)streaming_forward_layout<T>(forward, on, s, sparse); },
        [&](detail::arena& backward) {
          backward.overlap(
              [&](detail::arena& of_heads) {
                (void)streaming_backward_layout<T>(of_heads, on, s, sparse);
              },
              [&](detail::arena& shared) { (void)shared_bias_layout<T>(shared, on, s, sparse); });
        });
  }

  template <class Problem>
  static void forward(host_exec const& on, Problem const& p, workspace w);
  template <class Problem>
  static void backward(host_exec const& on, Problem const& p, workspace w);
};

template <class Mask>
template <class Problem>
void implementation<detail::streaming_attention_op<Mask>, detail::host_backend>::forward(
    host_exec const& on, Problem const& p, workspace w) {
  streaming_forward(on, attention_rule::of(p), p.in, p.y, p.state, w);
}
template <class Mask>
template <class Problem>
void implementation<detail::streaming_attention_op<Mask>, detail::host_backend>::backward(
    host_exec const& on, Problem const& p, workspace w) {
  streaming_backward(on, attention_rule::of(p), p.in, p.state, {p.dy, p.y, p.to, p.mode}, w);
}

template <class Mask>
struct implementation<detail::materialized_attention_op<Mask>, detail::host_backend> {
  static void check(host_exec const& on, detail::checker& c) { check_host(on, c); }
  template <class T>
  static void plan(host_exec const& on, detail::attention_shape const& s, detail::arena& a) {
    a.overlap([&](detail::arena& of_heads) { (void)attention_map_layout<T>(of_heads, on, s); },
              [&](detail::arena& shared) { (void)shared_bias_map_layout<T>(shared, on, s); });
  }

  template <class Problem>
  static void forward(host_exec const& on, Problem const& p, workspace w);
  template <class Problem>
  static void backward(host_exec const& on, Problem const& p, workspace w);
};

template <class Mask>
template <class Problem>
void implementation<detail::materialized_attention_op<Mask>, detail::host_backend>::forward(
    host_exec const& on, Problem const& p, workspace w) {
  materialized_forward(on, attention_rule::of(p), p.in, p.y, p.state, w);
}
template <class Mask>
template <class Problem>
void implementation<detail::materialized_attention_op<Mask>, detail::host_backend>::backward(
    host_exec const& on, Problem const& p, workspace w) {
  materialized_backward(on, attention_rule::of(p), p.in, p.state, {p.dy, p.y, p.to, p.mode}, w);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
