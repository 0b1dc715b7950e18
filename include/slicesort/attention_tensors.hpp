// SPDX-License-Identifier: Apache-2.0
/// What attention takes and gives, as braces show it: `{q, k, v}`, `{dq, dk, dv}`, `{state}`.
#pragma once

#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {

/// `[batch, heads, queries, channels]`, `[batch, heads, keys, channels]`,
/// `[batch, heads, keys, values]`, and what is added to the scores,
/// `[batch, heads, queries, keys]`: `{}` where there is nothing.
template <class T>
struct attention_inputs {
  tensor4<T const> q, k, v;
  tensor4<T const> bias{};
};

namespace detail {
// Inputs that have a name are not a dy.
template <class T>
inline constexpr bool is_attention_inputs = false;
template <class T>
inline constexpr bool is_attention_inputs<attention_inputs<T>> = true;
}  // namespace detail

/// The gradients with respect to those; what is `{}` is not wanted.
template <class T>
struct attention_gradients {
  tensor4<T> dq{}, dk{}, dv{}, dbias{};
};

/// What forward leaves for backward: `softmax_attention::saved_extents`.
template <class S>
struct saved_attention {
  tensor4<S> state;
};

/// The same, as backward reads it.
template <class S>
struct const_saved_attention {
  tensor4<S const> state;

  constexpr const_saved_attention(tensor4<S const> view) : state(view) {}
  constexpr const_saved_attention(saved_attention<S> saved) : state(saved.state) {}
};

}  // namespace v0
}  // namespace slicesort
