// SPDX-License-Identifier: Apache-2.0
// Argument checks of linear_attention.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/error.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

inline constexpr axis_names w_axes{nullptr, "heads", "features", "channels"};

// Describes w, [heads, features, channels], as one sample of an attention tensor.
inline attention_view describe_w_shape(char const* name, extents3 w) {
  return describe_shape(name, extents4(1, w_heads(w), w.length, w.channels), w_axes);
}
template <class T>
attention_view describe_w(char const* name, tensor3<T> w, bool written) {
  strides3 const s = w.strides();
  extents3 const e = w.extents();
  return describe(name,
                  tensor4<T>(w.data(), {1, w_heads(e), e.length, e.channels},
                             {0, s.batch, s.length, s.channels}),
                  written, w_axes);
}
template <class T>
bool is_omitted(tensor3<T> w) {
  return w.data() == nullptr && w.extents() == extents3{};
}

template <class T>
attention_info info_of(linear_attention_inputs<T> const& in) {
  return {in.q, in.k, in.v, describe_w("w", in.w, false), !is_omitted(in.w)};
}
template <class T>
attention_info info_of(linear_attention_gradients<T> const& grads) {
  return {grads.dq, grads.dk, grads.dv, describe_w("dw", grads.dw, true), !is_omitted(grads.dw)};
}

// Checks the shape of w or its gradient. `kv` is k or v, which have the same heads.
inline void check_w(checker& c, attention_view const& w, attention_view const& q,
                    attention_view const& kv) {
  if (w.shape.heads != 1 && w.shape.heads != kv.shape.heads)
    c.fail(error_kind::argument, "%s.heads is %lld, must be 1 or %lld (%s.heads)", w.name,
           static_cast<long long>(w.shape.heads), static_cast<long long>(kv.shape.heads), kv.name);
  c.extent(w, w.axes.channels, w.shape.channels, q.name, q.shape.channels);
  c.rows_countable(w);
}

inline void check_presence_of_w(checker& c, bool has_w, index_t heads, feature_kind kind) {
  if (has_w && !is_random(kind))
    c.fail(error_kind::argument, "w must be left out: the feature map has no matrix");
  if (!has_w && heads != 0 && is_random(kind))
    c.fail(error_kind::argument,
           "w is left out, must be the feature map's matrix, [1 or heads, features, channels]");
}
inline void check_gradient_of_w(checker& c, attention_view const& dw, attention_view const& w,
                                attention_view const& q, attention_view const& v,
                                feature_kind kind) {
  if (!is_random(kind)) return c.fail(error_kind::argument, "dw must be left out: there is no w");
  check_w(c, dw, q, v);
  c.extent(dw, dw.axes.length, dw.shape.length, w.name, w.shape.length);
}

template <class A>
void check_policies(checker& c, feature_config const& feature, divisor_config const& divisor) {
  check_policy_value<A>(
      c, feature.kind == feature_kind::random_fourier ? "feature.floor" : "feature.eps",
      feature.eps);
  check_policy_value<A>(c, "feature.scale", feature.scale);
  check_policy_value<A>(c, "divisor.eps", divisor.eps);
  if (feature.kind == feature_kind::random_fourier && feature.eps < 0)
    c.fail(error_kind::argument, "feature.floor is %g, must be at least 0", feature.eps);
  if (feature.count < 0 || feature.count > index_t{1} << 31)
    c.fail(error_kind::argument, "feature.features is %lld, must be in 0..2^31",
           static_cast<long long>(feature.count));
}

inline void check_direction(checker& c, bool causal, attention_view const& q,
                            attention_view const& k) {
  if (causal && q.shape.length != k.shape.length)
    c.fail(error_kind::argument, "%s.length is %lld, must be %lld (%s.length) where causal", k.name,
           static_cast<long long>(k.shape.length), static_cast<long long>(q.shape.length), q.name);
}

// Extents for a workspace query.
struct linear_attention_extents {
  extents4 q, v;
  extents3 w, dw;
};
template <class A>
void check_shapes(checker& c, linear_attention_extents const& extents,
                  feature_config const& feature, divisor_config const& divisor, bool causal) {
  attention_shapes const shapes(extents.q, extents.v);
  auto const w = describe_w_shape("w", extents.w), dw = describe_w_shape("dw", extents.dw);
  shapes.check_inputs(c, &w);
  check_presence_of_w(c, extents.w != extents3{}, extents.q.heads, feature.kind);
  if (is_random(feature.kind)) check_w(c, w, shapes.q, shapes.v);
  check_direction(c, causal, shapes.q, shapes.k);
  check_policies<A>(c, feature, divisor);
  c.shape(shapes.y);
  if (extents.dw == extents3{}) return;
  c.shape(dw);
  check_gradient_of_w(c, dw, w, shapes.q, shapes.v, feature.kind);
}

// Checks the inputs and policies of a forward or backward call.
template <class A, class Params>
void check_call(checker& c, Params const& params, dropout const& drop) {
  attention_info const inputs = info_of(params.in);
  check_inputs(c, inputs, params.lengths);
  check_presence_of_w(c, inputs.has[3], inputs.q.shape.heads, params.feature.kind);
  if (is_random(params.feature.kind)) check_w(c, inputs.extra, inputs.q, inputs.v);
  check_direction(c, params.causal, inputs.q, inputs.k);
  check_policies<A>(c, params.feature, params.divisor);
  if (drop.rate != 0)
    c.fail(error_kind::argument, "dropout.rate is %g, must be 0: no weights are computed",
           drop.rate);
}

SLICESORT_DETAIL_END
