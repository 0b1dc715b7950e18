// SPDX-License-Identifier: Apache-2.0
// The rules that attention's arguments must keep, for any mask and algorithm.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/softmax_attention/bias.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class T>
attention_info info_of(attention_inputs<T> const& in) {
  return {in.q, in.k, in.v, describe("bias", in.bias, false, pair_axes), !is_untested(in.bias)};
}
template <class T>
attention_info info_of(attention_gradients<T> const& to) {
  return {to.dq, to.dk, to.dv, describe("dbias", to.dbias, true, pair_axes),
          !is_untested(to.dbias)};
}

// A bias or its gradient, beside q and k whose rows can be counted.
inline void check_bias(checker& c, attention_view const& of, attention_view const& q,
                       attention_view const& k) {
  attention_view like = q;  // with an extent of 1 where samples or heads share the bias
  if (of.shape.batch == 1) like.shape.batch = 1;
  if (of.shape.heads == 1) like.shape.heads = 1;
  if (!is_relative(of.shape, q.shape.length)) return check_rows(c, of, like, q, k, k.axes.length);
  check_heads(c, of, like);
  index_t const distances = distances_of(q.shape.length, k.shape.length);
  if (of.shape.channels != distances)
    c.fail(error_kind::argument,
           "%s.keys is %lld, must be %lld (q.length + k.length - 1) where %s.queries is 1%s",
           of.name, static_cast<long long>(of.shape.channels), static_cast<long long>(distances),
           of.name, of.written ? "" : "; a row for all queries has their number and stride 0");
}

inline void check_dropout(checker& c, dropout const& d, index_t heads) {
  if (!(d.rate >= 0 && d.rate < 1))
    c.fail(error_kind::argument, "dropout.rate is %g, must be in [0, 1)", d.rate);
  if (d.first_sample < 0)
    c.fail(error_kind::argument, "dropout.first_sample is %lld, must not be negative",
           static_cast<long long>(d.first_sample));
  if (d.first_head < 0)
    c.fail(error_kind::argument, "dropout.first_head is %lld, must not be negative",
           static_cast<long long>(d.first_head));
  if (d.heads != 0 && (d.heads < heads || d.heads - heads < d.first_head))
    c.fail(
        error_kind::argument,
        "dropout.heads is %lld, must be 0 or at least dropout.first_head + q.heads (%lld + %lld)",
        static_cast<long long>(d.heads), static_cast<long long>(d.first_head),
        static_cast<long long>(heads));
}

template <class Mask>
void check_mask(checker& c, Mask const& mask, mask_call call) {
  if (char const* const what = what_is_wrong(mask, call))
    c.fail(error_kind::argument, "mask %s (k.length is %lld)", what,
           static_cast<long long>(call.keys));
}

// Rules that the shapes of q, v and, unless it is left out, dbias decide.
template <class A>
void check_attention_shapes(checker& c, extents4 q, extents4 v, extents4 dbias, double scale) {
  attention_shapes const shapes(q, v);
  shapes.check_inputs(c);
  check_number<A>(c, "scale", scale);
  if (dbias != extents4{}) {
    auto gradient = describe_shape("dbias", dbias, pair_axes);
    gradient.written = true;
    c.shape(gradient);
    check_bias(c, gradient, shapes.q, shapes.k);
  }
  c.shape(shapes.y);
}

// Rules of the inputs, for forward and backward.
template <class A>
void check_attention(checker& c, attention_info const& in, double scale,
                     attention_lengths const& lengths) {
  check_inputs(c, in, lengths);
  check_number<A>(c, "scale", scale);
  if (c.ok() && in.has[3]) check_bias(c, in.extra, in.q, in.k);
}

inline void check_attention_state(checker& c, attention_view const& state, attention_info const& in,
                                  index_t numbers) {
  c.view(state);
  check_heads(c, state, in.q);
  check_axis(c, state, state.axes.length, state.shape.length, in.q, in.q.axes.length,
             in.q.shape.length);
  if (state.shape.channels != numbers)
    c.fail(error_kind::argument, "%s.%s is %lld, must be %lld", state.name, state.axes.channels,
           static_cast<long long>(state.shape.channels), static_cast<long long>(numbers));
}

inline void check_attention_gradients(checker& c, attention_info const& to,
                                      attention_info const& in) {
  check_gradients(c, to, in);
  if (to.has[3]) check_bias(c, to.extra, in.q, in.k);
}

SLICESORT_DETAIL_END
