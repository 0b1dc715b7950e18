// SPDX-License-Identifier: Apache-2.0
// The numbered calls that are attention, on any execution policy: linear_attention twice, forward
// and backward, of both directions without a matrix, and causal with random features whose matrix
// has a gradient; and merge_attention of two parts, with and without a state.
#pragma once

#include "calls.hpp"
#include "operands.hpp"

#include <slicesort/linear_attention.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/view.hpp>

#include <cstddef>

namespace support {

// After permute.
inline constexpr int first_linear = 28, first_merge = first_linear + 4;
static_assert(first_merge + 2 == all_calls, "the last calls");
// A call is of one of them, forward or backward.
constexpr int linear_of(int call) { return (call - first_linear) / 2; }

// Divisors stay away from 0, and so do the sums of these features.
template <class F>
auto with_linear(int which, F const& f) {
  namespace feature = ss::feature;
  using plus = ss::divisor::sum_plus;
  if (which == 0) return f(ss::linear_attention<>{});
  return f(ss::linear_attention<feature::random_exp, plus, ss::direction::causal>{
      feature::random_exp{0.03125}, plus{0.25}});
}
// The shapes of w and of its gradient, where there are any.
inline extents3 extents_of_w(int which, attention_extents const& e) {
  return which == 0 ? extents3{} : e.of_w();
}

template <class T, class Exec>
std::size_t attention_bytes_of(int call, Exec const& on, attention_extents const& e) {
  if (call >= first_merge) return ss::merge_attention::workspace_bytes<T>(on, e.of_heads());
  bool const forward = (call - first_linear) % 2 == 0;
  extents3 const w = extents_of_w(linear_of(call), e), dw = forward ? extents3{} : w;
  return with_linear(linear_of(call), [&](auto const& op) {
    return op.template workspace_bytes<T>(on, e.of_heads(), e.of_heads(), w, dw);
  });
}

template <class T, class Exec>
void run_merge(int call, Exec const& on, operands<T> const& o, ss::workspace w) {
  using A = ss::detail::accumulator_t<T>;
  attention_extents const& e = o.attention;
  auto const state = [&](int part) {
    return ss::tensor4<A const>(o.softmax_state + part * e.of_state().size(), e.of_state());
  };
  ss::attention_parts<T> const parts{{e.heads_of<T const>(o.k), state(0)},
                                     {e.heads_of<T const>(o.v), state(1)}};
  ss::tensor4<T> const y = e.heads_of(o.attended);
  if (call == first_merge)
    ss::merge_attention().forward(on, parts, y, {ss::tensor4<A>(o.merged_state, e.of_state())}, w);
  else
    ss::merge_attention().forward(on, parts, y, ss::no_saved, w);
}

template <class T, class Exec>
void run_linear(int call, Exec const& on, operands<T> const& o, ss::workspace w,
                bool with_lengths) {
  attention_extents const& e = o.attention;
  auto const rows = o.attention_lengths_view(with_lengths);
  extents3 const of_w = extents_of_w(linear_of(call), e);
  auto const matrix = [&](T* data) { return ss::tensor3<T>(of_w.empty() ? nullptr : data, of_w); };
  ss::linear_attention_inputs<T> const in{e.heads_of<T const>(o.q), e.heads_of<T const>(o.k),
                                          e.heads_of<T const>(o.v), matrix(o.random_rows)};
  with_linear(linear_of(call), [&](auto const& op) {
    if ((call - first_linear) % 2 == 0)
      op.forward(on, in, e.heads_of(o.attended), w, {rows, rows, {}});
    else
      op.backward(on, e.heads_of<T const>(o.dattended), in,
                  {e.heads_of(o.dq), e.heads_of(o.dk), e.heads_of(o.dv), matrix(o.drandom_rows)}, w,
                  {ss::grad_mode::overwrite, rows, rows, {}});
  });
}

}  // namespace support
