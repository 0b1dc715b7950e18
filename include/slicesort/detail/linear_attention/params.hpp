// SPDX-License-Identifier: Apache-2.0
// Parameters of linear_attention. For every sample, head and query i, with sums over the valid keys
// j, causal over j <= i:
//   Z_i = sum phi(k_j),  S_i = sum phi(k_j) v_j^T,  d_i = <phi(q_i), Z_i>,
//   y_i = phi(q_i)^T S_i / D(d_i)
// d_i is the sum of the query's weights, D_i = D(d_i) the divisor. Backward, with g_i = dy_i / D_i
// (scaled_dy in the code) and the gradient of d_i, c_i = -D'(d_i) <dy_i, y_i> / D_i
// (weight_sum_grads):
//   dphi(q_i) = S_i g_i + c_i Z_i
//   U_j = sum phi(q_i) g_i^T, u_j = sum c_i phi(q_i) over the queries i that see key j,
//   dphi(k_j) = U_j v_j + u_j,  dv_j = U_j^T phi(k_j);  dq, dk and dw follow through phi.
// <dy_i, y_i> equals <phi(q_i), S_i g_i>, so backward needs no y and forward saves nothing.
//
// All arithmetic is in the accumulator type, and results are rounded once. Every backend computes
// every sum in the same order:
// - A tile has 64 rows. S and Z of a tile sum its keys in order, starting at 0. The sums before a
//   tile add up the earlier tiles in order. U and u are summed likewise; causal calls sum them from
//   the last tile to the first.
// - The output of a query sums phi(q) times S over the features in order. A causal call then adds
//   the keys of the query's own tile in order, weighted by <phi(q_i), phi(k_j)>, a sum over the
//   features. d is <phi(q_i), Z> plus the sum of those weights; each of the two is computed with
//   16 partial sums (partials_per_row).
// - S_i g_i sums over the channels of g in order. A causal call then adds the keys of the tile,
//   weighted by <g_i, v_j>, a sum over the channels. U_j v_j has the same order. U_j^T phi(k_j)
//   sums over the features, then over the queries of the tile. Z_i is the sum before the tile plus
//   the keys up to i.
// - Causal random_exp: the features of key j are relative to m_j, the maximum of keys 0 .. j. A sum
//   is relative to the maximum at its last key. When the maximum grows from m to m', S is rescaled
//   by exp(m - m'). Row i rescales its features by exp(m - m_i) for the sum before its tile, and
//   its weights by exp(m_j - m_i).
// - A call that continues a sequence aligns its tiles to the start of the sequence. The state
//   (state.hpp) holds S and Z of the full tiles and the keys of the partial tile, so the sums of
//   forward and dq have the order of one call.
// - Query heads that share a head of k share its S, Z, U and u. U and u add the tiles of the heads
//   of a group in order, before those of the next tile. Causal dphi(k_j) and dv_j of the first head
//   include U and u; the later heads add only their pairs of the tile, each summed on its own.
// - dw of one sample and head of k sums the tiles of queries in order, then the tiles of keys in
//   the order of U. dw then sums over the samples in order, or over samples and heads if heads
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
  bool with_dw;             // true if backward computes dw
  bool with_state = false;  // true if the call has states

  constexpr linear_attention_shape(extents4 q, extents4 v, feature_config const& feature_map,
                                   bool is_causal, bool computes_dw)
      : attention_sizes(q, v), feature(feature_map), causal(is_causal), with_dw(computes_dw) {}

  // True if a call writes nothing but dw. A call without rows copies its states.
  constexpr bool empty() const {
    return attention_sizes::empty() && (!with_state || batch == 0 || heads == 0);
  }
};

// Number of heads of w, [heads of k, features, channels]: 1 if all heads share a matrix.
SLICESORT_HD constexpr index_t w_heads(extents3 w) { return w.batch; }
// First element of the matrix of a head.
template <class T>
SLICESORT_HD T* w_of_head(tensor3<T> w, index_t head) {
  return w.data() + (w_heads(w.extents()) == 1 ? 0 : head) * w.strides().batch;
}

// `Feature` is a user-defined feature map, or built_in_feature.
template <class Feature, class T>
struct linear_attention_forward {
  using element = T;
  static constexpr char const* name = "linear_attention.forward";
  static constexpr bool is_forward = true;
  Feature custom_feature;
  feature_config feature{};
  divisor_config divisor{};
  bool causal = false;
  products multiply = products::exact;  // read on GPUs only
  linear_attention_inputs<T> in{};
  attention_lengths lengths{};
  tensor4<T> y{};
  linear_attention_states<accumulator_t<T>> states{};

  bool has_states() const {
    return states.initial.data() != nullptr || states.last.data() != nullptr;
  }
  linear_attention_shape shape() const {
    linear_attention_shape s{in.q.extents(), in.v.extents(), feature, causal, false};
    s.with_state = has_states();
    return s;
  }
};

template <class Feature, class T>
struct linear_attention_backward {
  using element = T;
  static constexpr char const* name = "linear_attention.backward";
  static constexpr bool is_forward = false;
  Feature custom_feature;
  feature_config feature{};
  divisor_config divisor{};
  bool causal = false;
  products multiply = products::exact;  // read on GPUs only
  linear_attention_inputs<T> in{};
  attention_lengths lengths{};
  tensor4<T const> dy{};
  linear_attention_gradients<T> grads{};
  grad_mode mode = grad_mode::overwrite;
  linear_attention_state_gradients<accumulator_t<T>> states{};

  bool has_states() const {
    return states.initial.data() != nullptr || states.dlast.data() != nullptr ||
           states.dinitial.data() != nullptr;
  }
  linear_attention_shape shape() const {
    linear_attention_shape s{in.q.extents(), in.v.extents(), feature, causal,
                             grads.dw.data() != nullptr};
    s.with_state = has_states();
    return s;
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

inline constexpr int linear_tile = 64;  // rows per tile of queries or keys

SLICESORT_DETAIL_END
