// SPDX-License-Identifier: Apache-2.0
/// Groups of attention tensors, passed in braces: `{q, k, v}`, `{dq, dk, dv}`, `{state}`, `{y,
/// state}` of a part, and `{q, k, v, w}` of linear attention.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// Inputs of attention: q `[batch, heads, queries, channels]`, k `[batch, heads, keys, channels]`,
/// v `[batch, heads, keys, values]`, and an optional bias of the scores. k and v may have fewer
/// heads, a divisor of q's: groups of consecutive query heads then share a head of k and v (GQA, or
/// MQA with one). The bias is per pair, `[batch, heads, queries, keys]`, or relative, `[batch,
/// heads, 1, queries + keys - 1]`, where query i and key j read element `j - i + queries - 1`. Its
/// batch or heads may be 1, to share it between all samples or heads. All have the same element
/// type T.
template <class T>
struct attention_inputs {
  tensor4<T const> q, k, v;
  tensor4<T const> bias{};
};

/// Gradient outputs of element type T, each with the shape of its input: dq `[batch, heads,
/// queries, channels]`, dk `[batch, heads, keys, channels]`, dv `[batch, heads, keys, values]`.
/// Pass `{}` to skip one. dbias may have any shape that a bias may have, independent of the shape
/// of the bias. It is summed over samples or heads if its extent there is 1, and over the pairs of
/// each distance if it is relative.
template <class T>
struct attention_gradients {
  tensor4<T> dq{}, dk{}, dv{}, dbias{};
};

/// Inputs of linear attention: q `[batch, heads, queries, channels]`, k `[batch, heads, keys,
/// channels]`, v `[batch, heads, keys, values]`, and for random features w `[heads, features,
/// channels]`, or `[1, features, channels]` to share it between all heads. k and v may have fewer
/// heads, as in `attention_inputs`; w has those of k, or 1. All have the same element type T.
template <class T>
struct linear_attention_inputs {
  tensor4<T const> q, k, v;
  tensor3<T const> w{};
};

/// Gradient outputs of element type T, each with the shape of its input: dq `[batch, heads,
/// queries, channels]`, dk `[batch, heads, keys, channels]`, dv `[batch, heads, keys, values]`, dw
/// `[heads, features, channels]`. Pass `{}` to skip one. dw is summed over the samples, and also
/// over the heads if it has only one.
template <class T>
struct linear_attention_gradients {
  tensor4<T> dq{}, dk{}, dv{};
  tensor3<T> dw{};
};

/// Returns the gradients for a call that computes only the gradient of the bias, `dbias`: a view
/// `[batch, heads, queries, keys]` or relative, of the element type of the call.
///
/// - **Errors** none; backward checks the view.
template <class Y>
SLICESORT_ABI_TAG auto grad_bias(Y const& dbias) {
  attention_gradients<typename detail::view_of_heads_t<Y>::value_type> grads;
  grads.dbias = detail::view_of_heads_t<Y>(dbias);
  return grads;
}
/// Returns the gradients for a call that computes only the gradient of random features, `dw`: a
/// view `[heads, features, channels]` of the element type of the call.
///
/// - **Errors** none; backward checks the view.
template <class Y>
SLICESORT_ABI_TAG auto grad_w(Y const& dw) {
  linear_attention_gradients<typename detail::view_of_rank3_t<Y>::value_type> grads;
  grads.dw = dw;
  return grads;
}

/// States of causal linear attention before the first row and after the last valid row, `[batch,
/// v.heads, 1, elements]` (`linear_attention::state_extents`) of the accumulator's type (double for
/// double, else float). Without `initial`, no keys come before the first row. Both may be the same
/// view.
template <class A>
struct linear_attention_states {
  tensor4<A const> initial{};
  tensor4<A> last{};
};

/// States for backward: `initial` is the input of forward; `dlast` is the gradient of the last
/// state, 0 if omitted; `dinitial` receives that of the initial one. `dlast` and `dinitial` may be
/// the same view. All are `[batch, v.heads, 1, elements]` of the accumulator's type.
template <class A>
struct linear_attention_state_gradients {
  tensor4<A const> initial{}, dlast{};
  tensor4<A> dinitial{};
};

/// State that forward saves for backward: `[batch, heads, queries, 2]` of the accumulator's type
/// with `streaming`, `[batch, heads, queries, keys]` of the element type with `materialized`
/// (`softmax_attention::saved_extents`); or `no_saved`.
template <class S>
using saved_attention = saved_argument<tensor4<S>>;

/// `saved_attention`, `[batch, heads, queries, ..]` of the same type, as backward reads it.
template <class S>
using const_saved_attention = const_saved_argument<tensor4<S const>>;

/// Attention over some of the keys: y `[batch, heads, queries, values]` and the state that
/// `streaming` saves, `[batch, heads, queries, 2]`, of the accumulator's type (double for double,
/// else float).
template <class T>
struct attention_part {
  tensor4<T const> y;
  tensor4<detail::accumulator_t<T> const> state;
};

/// Parts to merge, in order: in braces, `{{y0, state0}, {y1, state1}}`, or an array or vector of
/// `attention_part<T>`. A call copies the views and requires 1 to `max_parts` of them.
template <class T>
class attention_parts {
 public:
  static constexpr std::size_t max_parts = 16, most [[deprecated("use max_parts")]] = max_parts;

  SLICESORT_ABI_TAG attention_parts(std::initializer_list<attention_part<T>> parts)
      : attention_parts(parts.begin(), parts.size()) {}
  template <class C,
            std::enable_if_t<std::is_convertible_v<decltype(std::declval<C const&>().data()),
                                                   attention_part<T> const*>,
                             int> = 0>
  SLICESORT_ABI_TAG attention_parts(C const& parts) : attention_parts(parts.data(), parts.size()) {}
  SLICESORT_ABI_TAG attention_parts(attention_part<T> const* first, std::size_t count)
      : size_(count) {
    for (std::size_t i = 0; i < count && i < max_parts; ++i) parts_[i] = first[i];
  }

  /// Number of parts passed, which may exceed `max_parts`.
  SLICESORT_ABI_TAG std::size_t size() const { return size_; }
  /// The first `max_parts` parts.
  SLICESORT_ABI_TAG std::array<attention_part<T>, max_parts> const& views() const { return parts_; }

 private:
  std::array<attention_part<T>, max_parts> parts_{};
  std::size_t size_;
};

SLICESORT_TYPES_END
