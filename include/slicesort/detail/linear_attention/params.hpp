// SPDX-License-Identifier: Apache-2.0
// linear_attention: what a call is about. For every sample, head and query i, over the keys j that
// are valid and, where causal, at most i:
//   Z_i = sum phi(k_j),  S_i = sum phi(k_j) v_j^T,  d_i = <phi(q_i), Z_i>,
//   y_i = phi(q_i)^T S_i / D(d_i)
// and backward, with g_i = dy_i / D_i and c_i = -D'(d_i) <dy_i, y_i> / D_i:
//   dphi(q_i) = S_i g_i + c_i Z_i
//   U_j = sum phi(q_i) g_i^T, u_j = sum c_i phi(q_i) over the queries i that look at key j,
//   dphi(k_j) = U_j v_j + u_j,  dv_j = U_j^T phi(k_j),  then dq, dk and dw through phi.
// <dy_i, y_i> is <phi(q_i), S_i g_i>, so backward needs no y, and forward saves nothing.
//
// All in the accumulator's type, rounded once, and every sum in an order that no backend changes:
// - A tile is 64 rows. S and Z of a tile are sums from 0 over its keys in order, and those before a
//   tile are the sums of the tiles before it in order; U and u likewise, where causal from the last
//   tile on.
// - A query's sums begin with the features in order, times S; where causal, the keys of its own
//   tile follow in order: their weights are <phi(q_i), phi(k_j)>, sums over the features in order.
//   d is <phi(q_i), Z> and the sum of those weights, each as row_parts says.
// - S_i g_i is a sum over the channels of g in order; where causal, the keys of the tile follow,
//   whose weights <g_i, v_j> are sums over the channels. So are U_j v_j, and U_j^T phi(k_j) over
//   the features, with the queries of the tile behind them. Z_i is the one before the tile plus
//   the keys up to i.
// - random_exp where causal: features of key j are relative to the maximum m_j of keys 0 .. j, and
//   those of a sum to that of its last key. S grows old by exp(m - m') where the maximum went from
//   m to m'; row i multiplies its features by exp(m - m_i) for the sum before its tile, and weights
//   by exp(m_j - m_i).
// - dw of a sample and a head: tiles of queries in order, then tiles of keys in the order in which
//   U is formed. dw is the sum over the samples, in order, or over samples and heads where heads
//   share w.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Arguments of the workspace size.
struct linear_attention_shape : attention_sizes {
  feature_config feature;
  bool causal;
  bool with_dw;  // true if backward computes dw

  constexpr linear_attention_shape(extents4 q, extents4 v, feature_config const& feature_map,
                                   bool is_causal, bool computes_dw)
      : attention_sizes(q, v), feature(feature_map), causal(is_causal), with_dw(computes_dw) {}
};

// Heads of the matrix of random features, [heads, features, channels]: 1 if all share it.
SLICESORT_HD constexpr index_t heads_of_w(extents3 w) { return w.batch; }
// The first element of a head's matrix.
template <class T>
SLICESORT_HD T* w_of_head(tensor3<T> w, index_t head) {
  return w.data() + (heads_of_w(w.extents()) == 1 ? 0 : head) * w.strides().batch;
}

// `Feature`: the user's own, or built_in_feature.
template <class Feature, class T>
struct linear_attention_forward {
  using element = T;
  static constexpr char const* name = "linear_attention.forward";
  Feature own;
  feature_config feature{};
  divisor_config divisor{};
  bool causal = false;
  products multiply = products::exact;  // on a GPU
  linear_attention_inputs<T> in{};
  attention_lengths lengths{};
  tensor4<T> y{};

  linear_attention_shape shape() const {
    return {in.q.extents(), in.v.extents(), feature, causal, false};
  }
};

template <class Feature, class T>
struct linear_attention_backward {
  using element = T;
  static constexpr char const* name = "linear_attention.backward";
  Feature own;
  feature_config feature{};
  divisor_config divisor{};
  bool causal = false;
  products multiply = products::exact;  // on a GPU
  linear_attention_inputs<T> in{};
  attention_lengths lengths{};
  tensor4<T const> dy{};
  linear_attention_gradients<T> to{};
  grad_mode mode = grad_mode::overwrite;

  linear_attention_shape shape() const {
    return {in.q.extents(), in.v.extents(), feature, causal, to.dw.data() != nullptr};
  }
};

template <class Feature>
struct linear_attention_op {
  using shape = linear_attention_shape;
  template <class T>
  using forward = linear_attention_forward<Feature, T>;
  template <class T>
  using backward = linear_attention_backward<Feature, T>;
};

// Rows of a tile: of keys that are summed from 0, and of queries.
inline constexpr int linear_attention_tile = 64;

SLICESORT_DETAIL_END
