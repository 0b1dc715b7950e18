// SPDX-License-Identifier: Apache-2.0
// Argument checks of operators with scores per pair, which have a bias and a mask.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/bias.hpp>
#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class T>
attention_info info_of(attention_inputs<T> const& in) {
  return {in.q, in.k, in.v, describe("bias", in.bias, false, pair_axes), !is_omitted(in.bias)};
}
template <class T>
attention_info info_of(attention_gradients<T> const& grads) {
  return {grads.dq, grads.dk, grads.dv, describe("dbias", grads.dbias, true, pair_axes),
          !is_omitted(grads.dbias)};
}

// Checks a bias or its gradient. Requires checked q and k.
inline void check_bias(checker& c, attention_view const& view, attention_view const& q,
                       attention_view const& k) {
  attention_view expected = q;  // extent 1 if samples or heads share the bias
  if (view.shape.batch == 1) expected.shape.batch = 1;
  if (view.shape.heads == 1) expected.shape.heads = 1;
  if (!is_relative(view.shape, q.shape.length))
    return check_rows(c, view, expected, q, k, k.axes.length);
  check_heads(c, view, expected);
  index_t const distances = distances_of(q.shape.length, k.shape.length);
  if (view.shape.channels != distances)
    c.fail(error_kind::argument,
           "%s.keys is %lld, must be %lld (q.length + k.length - 1) where %s.queries is 1%s",
           view.name, static_cast<long long>(view.shape.channels),
           static_cast<long long>(distances), view.name,
           view.written ? "" : "; a row for all queries has their number and stride 0");
}

inline void check_dropout(checker& c, dropout const& options, index_t heads) {
  if (!(options.rate >= 0 && options.rate < 1))
    c.fail(error_kind::argument, "dropout.rate is %g, must be in [0, 1)", options.rate);
  if (options.first_sample < 0)
    c.fail(error_kind::argument, "dropout.first_sample is %lld, must not be negative",
           static_cast<long long>(options.first_sample));
  if (options.first_head < 0)
    c.fail(error_kind::argument, "dropout.first_head is %lld, must not be negative",
           static_cast<long long>(options.first_head));
  if (options.heads != 0 && (options.heads < heads || options.heads - heads < options.first_head))
    c.fail(
        error_kind::argument,
        "dropout.heads is %lld, must be 0 or at least dropout.first_head + q.heads (%lld + %lld)",
        static_cast<long long>(options.heads), static_cast<long long>(options.first_head),
        static_cast<long long>(heads));
}

template <class Mask>
void check_mask(checker& c, Mask const& mask, mask_call call) {
  if (char const* const error = mask_error(mask, call))
    c.fail(error_kind::argument, "mask %s (k.length is %lld)", error,
           static_cast<long long>(call.keys));
}

// Checks the shapes of q and v, and of dbias if there is one.
template <class A>
void check_attention_shapes(checker& c, extents4 q, extents4 v, extents4 dbias, double scale) {
  attention_shapes const shapes(q, v);
  shapes.check_inputs(c);
  check_policy_value<A>(c, "scale", scale);
  if (dbias != extents4{}) {
    auto gradient = describe_shape("dbias", dbias, pair_axes);
    gradient.written = true;
    c.shape(gradient);
    check_bias(c, gradient, shapes.q, shapes.k);
  }
  c.shape(shapes.y);
}

// Checks the inputs of forward and backward.
template <class A>
void check_attention(checker& c, attention_info const& inputs, double scale,
                     attention_lengths const& lengths) {
  check_inputs(c, inputs, lengths);
  check_policy_value<A>(c, "scale", scale);
  if (c.ok() && inputs.has[3]) check_bias(c, inputs.extra, inputs.q, inputs.k);
}

inline void check_attention_state(checker& c, attention_view const& state,
                                  attention_info const& inputs, index_t state_channels) {
  c.view(state);
  check_heads(c, state, inputs.q);
  check_axis(c, state, state.axes.length, state.shape.length, inputs.q, inputs.q.axes.length,
             inputs.q.shape.length);
  if (state.shape.channels != state_channels)
    c.fail(error_kind::argument, "%s.%s is %lld, must be %lld", state.name, state.axes.channels,
           static_cast<long long>(state.shape.channels), static_cast<long long>(state_channels));
}

inline void check_attention_gradients(checker& c, attention_info const& grads,
                                      attention_info const& inputs) {
  check_gradients(c, grads, inputs);
  if (grads.has[3]) check_bias(c, grads.extra, inputs.q, inputs.k);
}

SLICESORT_DETAIL_END
