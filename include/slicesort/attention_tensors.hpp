// SPDX-License-Identifier: Apache-2.0
/// The tensors of attention that are passed together in braces: `{q, k, v}`, `{dq, dk, dv}`,
/// `{state}`.
#pragma once

#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {

/// Inputs of attention: q `[batch, heads, queries, channels]`, k `[batch, heads, keys, channels]`,
/// v `[batch, heads, keys, values]`, and optionally a bias `[batch, heads, queries, keys]` that is
/// added to the scores.
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

/// Gradient outputs, each of the shape of its input. Pass `{}` to skip one.
template <class T>
struct attention_gradients {
  tensor4<T> dq{}, dk{}, dv{}, dbias{};
};

/// The state that attention's forward writes for backward, of shape
/// `softmax_attention::saved_extents`.
template <class S>
struct saved_attention {
  tensor4<S> state;
};

/// The state of attention as backward reads it.
template <class S>
struct const_saved_attention {
  tensor4<S const> state;

  constexpr const_saved_attention(tensor4<S const> view) : state(view) {}
  constexpr const_saved_attention(saved_attention<S> saved) : state(saved.state) {}
};

}  // namespace v0
}  // namespace slicesort
