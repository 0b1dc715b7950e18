// SPDX-License-Identifier: Apache-2.0
/// The tensors of attention that are passed together in braces: `{q, k, v}`, `{dq, dk, dv}`,
/// `{state}`.
#pragma once

#include <slicesort/saved.hpp>
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

/// Gradient outputs, each of the shape of its input. Pass `{}` to skip one.
template <class T>
struct attention_gradients {
  tensor4<T> dq{}, dk{}, dv{}, dbias{};
};

/// The state that attention's forward writes for backward, in braces: `{state}`, of shape
/// `softmax_attention::saved_extents`. Or `no_saved`.
template <class S>
using saved_attention = detail::saved_argument<tensor4<S>>;

/// The state of attention as backward reads it.
template <class S>
using const_saved_attention = detail::const_saved_argument<tensor4<S const>>;

}  // namespace v0
}  // namespace slicesort
