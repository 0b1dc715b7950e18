// SPDX-License-Identifier: Apache-2.0
// The rules that attention's arguments must keep, for any mask and algorithm.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/head_check.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/detail/softmax_attention/bias.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

inline constexpr axis_names pair_axes{"batch", "heads", "queries", "keys"},
    number_axes{"batch", "heads", "queries", "numbers"};

// Four tensors of one call: q, k, v and bias, or their gradients.
struct attention_info {
  view_info q, k, v, bias;
  bool has[4];

  template <class T>
  explicit attention_info(attention_inputs<T> const& in)
      : q(describe("q", in.q, false, head_axes)),
        k(describe("k", in.k, false, head_axes)),
        v(describe("v", in.v, false, head_axes)),
        bias(describe("bias", in.bias, false, pair_axes)),
        has{true, true, true, !is_left_out(in.bias)} {}
  template <class T>
  explicit attention_info(attention_gradients<T> const& to)
      : q(describe("dq", to.dq, true, head_axes)),
        k(describe("dk", to.dk, true, head_axes)),
        v(describe("dv", to.dv, true, head_axes)),
        bias(describe("dbias", to.dbias, true, pair_axes)),
        has{!is_left_out(to.dq), !is_left_out(to.dk), !is_left_out(to.dv), !is_left_out(to.dbias)} {
  }

  // f(info) of those that are there.
  template <class F>
  void each(F const& f) const {
    view_info const* const all[] = {&q, &k, &v, &bias};
    for (int i = 0; i < 4; ++i)
      if (has[i]) f(*all[i]);
  }
};

// A bias or its gradient, beside q and k whose rows can be counted.
inline void check_bias(checker& c, view_info const& of, view_info const& q, view_info const& k) {
  view_info like = q;  // with an extent of 1 where samples or heads share the bias
  if (of.extents.outer == 1) like.extents.outer = 1;
  if (of.extents.batch == 1) like.extents.batch = 1;
  if (!is_relative(of.extents, q.extents.length))
    return check_rows(c, of, like, q, k, k.axes.length);
  c.extent(of, of.axes.outer, of.extents.outer, like.name, like.extents.outer);
  c.extent(of, of.axes.batch, of.extents.batch, like.name, like.extents.batch);
  index_t const distances = distances_of(q.extents.length, k.extents.length);
  if (of.extents.channels != distances)
    c.fail(error_kind::argument,
           "%s.keys is %lld, must be %lld (q.length + k.length - 1) where %s.queries is 1%s",
           of.name, static_cast<long long>(of.extents.channels), static_cast<long long>(distances),
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

// Rules that the shapes of q and v decide, with those of k and y, which follow from them, and of
// dbias, unless it is left out.
template <class A>
void check_attention_shapes(checker& c, extents4 q, extents4 v, extents4 dbias, double scale) {
  auto const queries = describe_shape("q", q, head_axes),
             values = describe_shape("v", v, head_axes);
  auto const keys = describe_shape("k", {q.outer, q.batch, v.length, q.channels}, head_axes);
  for (auto const& one : {queries, keys, values}) c.shape(one);
  check_rows(c, values, queries, keys, values, values.axes.channels);
  c.rows_countable(queries);
  c.rows_countable(keys);
  check_number<A>(c, "scale", scale);
  if (dbias != extents4{}) {
    auto gradient = describe_shape("dbias", dbias, pair_axes);
    gradient.written = true;
    c.shape(gradient);
    check_bias(c, gradient, queries, keys);
  }
  c.shape(describe_shape("y", {q.outer, q.batch, q.length, v.channels}, head_axes));
}

// Whatever forward and backward have in common: the inputs.
template <class A>
void check_attention(checker& c, attention_info const& in, double scale,
                     tensor1<index_t const> key_lengths, tensor1<index_t const> query_lengths) {
  in.each([&](view_info const& one) { c.view(one); });
  check_rows(c, in.k, in.q, in.k, in.q, in.q.axes.channels);
  check_rows(c, in.v, in.q, in.k, in.v, in.v.axes.channels);
  c.rows_countable(in.q);
  c.rows_countable(in.k);
  c.lengths("lengths", key_lengths, in.q.extents.outer, in.k.extents.length);
  c.lengths("query_lengths", query_lengths, in.q.extents.outer, in.q.extents.length);
  check_number<A>(c, "scale", scale);
}

// y or dy: a row of v's width for each of q's.
inline void check_means(checker& c, view_info const& y, attention_info const& in) {
  c.view(y);
  check_rows(c, y, in.q, in.q, in.v, in.v.axes.channels);
}

inline void check_attention_state(checker& c, view_info const& state, attention_info const& in,
                                  index_t numbers) {
  c.view(state);
  c.extent(state, "batch", state.extents.outer, in.q.name, in.q.extents.outer);
  c.extent(state, "heads", state.extents.batch, in.q.name, in.q.extents.batch);
  check_axis(c, state, state.axes.length, state.extents.length, in.q, in.q.axes.length,
             in.q.extents.length);
  if (state.extents.channels != numbers)
    c.fail(error_kind::argument, "%s.%s is %lld, must be %lld", state.name, state.axes.channels,
           static_cast<long long>(state.extents.channels), static_cast<long long>(numbers));
}

// Gradients have the shapes of what they are gradients of.
inline void check_attention_gradients(checker& c, attention_info const& to,
                                      attention_info const& in) {
  to.each([&](view_info const& one) { c.view(one); });
  auto const like = [&](bool wanted, view_info const& gradient, view_info const& of) {
    if (wanted) check_rows(c, gradient, of, of, of, of.axes.channels);
  };
  like(to.has[0], to.q, in.q);
  like(to.has[1], to.k, in.k);
  like(to.has[2], to.v, in.v);
  if (to.has[3]) check_bias(c, to.bias, in.q, in.k);
}

SLICESORT_DETAIL_END
