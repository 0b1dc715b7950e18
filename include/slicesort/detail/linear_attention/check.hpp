// SPDX-License-Identifier: Apache-2.0
// The rules that linear_attention's arguments must keep.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/head_check.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/detail/linear_attention/feature_rule.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/error.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

inline constexpr axis_names w_axes{nullptr, "heads", "features", "channels"};

template <class T>
view_info describe_w(char const* name, tensor3<T> w, bool written) {
  view_info info = describe(name, w, written);
  info.axes = w_axes;
  return info;
}

// q, k, v and w of one call, or their gradients.
struct linear_attention_info {
  view_info q, k, v, w;
  bool has[4];

  template <class T>
  explicit linear_attention_info(linear_attention_inputs<T> const& in)
      : q(describe("q", in.q, false, head_axes)),
        k(describe("k", in.k, false, head_axes)),
        v(describe("v", in.v, false, head_axes)),
        w(describe_w("w", in.w, false)),
        has{true, true, true, !is_left_out(in.w)} {}
  template <class T>
  explicit linear_attention_info(linear_attention_gradients<T> const& to)
      : q(describe("dq", to.dq, true, head_axes)),
        k(describe("dk", to.dk, true, head_axes)),
        v(describe("dv", to.dv, true, head_axes)),
        w(describe_w("dw", to.dw, true)),
        has{!is_left_out(to.dq), !is_left_out(to.dk), !is_left_out(to.dv), !is_left_out(to.dw)} {}

  // f(info) of those that are there.
  template <class F>
  void each(F const& f) const {
    view_info const* const all[] = {&q, &k, &v, &w};
    for (int i = 0; i < 4; ++i)
      if (has[i]) f(*all[i]);
  }
};

// The matrix of random features, or its gradient.
inline void check_w(checker& c, view_info const& w, view_info const& q) {
  if (w.extents.batch != 1 && w.extents.batch != q.extents.batch)
    c.fail(error_kind::argument, "%s.heads is %lld, must be 1 or %lld (%s.heads)", w.name,
           static_cast<long long>(w.extents.batch), static_cast<long long>(q.extents.batch),
           q.name);
  c.extent(w, w.axes.channels, w.extents.channels, q.name, q.extents.channels);
  c.rows_countable(w);
}

inline void check_presence_of_w(checker& c, bool is_there, index_t heads, feature_kind kind) {
  if (is_there && !is_random(kind))
    c.fail(error_kind::argument, "w must be left out: the feature map has no matrix");
  if (!is_there && heads != 0 && is_random(kind))
    c.fail(error_kind::argument,
           "w is left out, must be the feature map's matrix, [1 or heads, features, channels]");
}
inline void check_gradient_of_w(checker& c, view_info const& dw, view_info const& w,
                                view_info const& q, feature_kind kind) {
  if (!is_random(kind)) return c.fail(error_kind::argument, "dw must be left out: there is no w");
  check_w(c, dw, q);
  c.extent(dw, dw.axes.length, dw.extents.length, w.name, w.extents.length);
}

// The policies' own numbers.
template <class A>
void check_policies(checker& c, feature_rule const& feature, divisor_rule const& divisor) {
  check_number<A>(c, feature.kind == feature_kind::random_fourier ? "feature.floor" : "feature.eps",
                  feature.eps);
  check_number<A>(c, "feature.scale", feature.scale);
  check_number<A>(c, "divisor.eps", divisor.eps);
  if (feature.kind == feature_kind::random_fourier && feature.eps < 0)
    c.fail(error_kind::argument, "feature.floor is %g, must be at least 0", feature.eps);
  if (feature.count < 0 || feature.count > index_t{1} << 31)
    c.fail(error_kind::argument, "feature.features is %lld, must be in 0..2^31",
           static_cast<long long>(feature.count));
}

inline void check_direction(checker& c, bool causal, view_info const& q, view_info const& k) {
  if (causal && q.extents.length != k.extents.length)
    c.fail(error_kind::argument, "%s.length is %lld, must be %lld (%s.length) where causal", k.name,
           static_cast<long long>(k.extents.length), static_cast<long long>(q.extents.length),
           q.name);
}

// Rules that shapes and policies decide.
struct linear_attention_shapes {
  extents4 q, v;
  extents3 w, dw;
};
template <class A>
void check_shapes(checker& c, linear_attention_shapes const& s, feature_rule const& feature,
                  divisor_rule const& divisor, bool causal) {
  auto const queries = describe_shape("q", s.q, head_axes),
             values = describe_shape("v", s.v, head_axes);
  auto const keys =
      describe_shape("k", {s.q.outer, s.q.batch, s.v.length, s.q.channels}, head_axes);
  for (auto const& one : {queries, keys, values}) c.shape(one);
  check_rows(c, values, queries, keys, values, values.axes.channels);
  auto const shape_of_w = [](char const* name, extents3 e) {
    view_info info = describe_shape(name, e);
    info.axes = w_axes;
    return info;
  };
  auto const w = shape_of_w("w", s.w), dw = shape_of_w("dw", s.dw);
  c.shape(w);
  check_presence_of_w(c, s.w != extents3{}, s.q.batch, feature.kind);
  if (is_random(feature.kind)) check_w(c, w, queries);
  c.rows_countable(queries);
  c.rows_countable(keys);
  check_direction(c, causal, queries, keys);
  check_policies<A>(c, feature, divisor);
  c.shape(describe_shape("y", {s.q.outer, s.q.batch, s.q.length, s.v.channels}, head_axes));
  if (s.dw == extents3{}) return;
  c.shape(dw);
  check_gradient_of_w(c, dw, w, queries, feature.kind);
}

// Whatever forward and backward have in common.
template <class A, class Problem>
void check_call(checker& c, Problem const& p, dropout const& drop) {
  linear_attention_info const in(p.in);
  bool const random = is_random(p.feature.kind);
  c.view(in.q), c.view(in.k), c.view(in.v);
  check_rows(c, in.k, in.q, in.k, in.q, in.q.axes.channels);
  check_rows(c, in.v, in.q, in.k, in.v, in.v.axes.channels);
  if (in.has[3]) c.view(in.w);
  check_presence_of_w(c, in.has[3], in.q.extents.batch, p.feature.kind);
  if (random) check_w(c, in.w, in.q);
  c.rows_countable(in.q);
  c.rows_countable(in.k);
  check_direction(c, p.causal, in.q, in.k);
  c.lengths("lengths", p.lengths.keys, in.q.extents.outer, in.k.extents.length);
  c.lengths("query_lengths", p.lengths.queries, in.q.extents.outer, in.q.extents.length);
  check_policies<A>(c, p.feature, p.divisor);
  if (drop.rate != 0)
    c.fail(error_kind::argument, "dropout.rate is %g, must be 0: no weights are formed", drop.rate);
}

SLICESORT_DETAIL_END
