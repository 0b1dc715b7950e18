// SPDX-License-Identifier: Apache-2.0
// Argument checks shared by the attention operators: q, k, v, their
// gradients and y.
#pragma once

#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>

SLICESORT_DETAIL_BEGIN

inline constexpr axis_names head_axes{"batch", "heads", "length", "channels"},
    pair_axes{"batch", "heads", "queries", "keys"},
    number_axes{"batch", "heads", "queries", "numbers"};

// Description of a tensor with attention axes: batch, heads, length, channels.
struct attention_view : view_info {
  extents4 shape;
};
inline attention_view describe_shape(char const* name, extents4 e, axis_names axes = head_axes) {
  return {describe_shape(name, stack_extents(e.batch, e.heads, e.length, e.channels), axes), e};
}
template <class T>
attention_view describe(char const* name, tensor4<T> v, bool written, axis_names axes = head_axes) {
  extents4 const e = v.extents();
  strides4 const s = v.strides();
  return {
      describe(name, v.data(), element_size::make<T>(), {e.batch, e.heads, e.length, e.channels},
               {s.batch, s.heads, s.length, s.channels}, axes, written),
      e};
}

// True if the caller passed no tensor.
template <class T>
bool is_omitted(tensor4<T> v) {
  return v.data() == nullptr && v.extents() == extents4{};
}

// Checks that two axes, whose names may differ, have the same extent.
inline void check_axis(checker& c, view_info const& view, char const* axis, index_t extent,
                       view_info const& like, char const* like_axis, index_t expected) {
  if (extent != expected)
    c.fail(error_kind::argument, "%s.%s is %lld, must be %lld (%s.%s)", view.name, axis,
           static_cast<long long>(extent), static_cast<long long>(expected), like.name, like_axis);
}

// Checks that `view` has the same batch and heads as `like`.
inline void check_heads(checker& c, attention_view const& view, attention_view const& like) {
  c.extent(view, "batch", view.shape.batch, like.name, like.shape.batch);
  c.extent(view, "heads", view.shape.heads, like.name, like.shape.heads);
}
// Checks the batch and the heads of v, which may be a divisor of q's.
inline void check_kv_heads(checker& c, attention_view const& v, attention_view const& q) {
  c.extent(v, "batch", v.shape.batch, q.name, q.shape.batch);
  index_t const heads = q.shape.heads, count = v.shape.heads;
  if (count != heads && (count < 1 || heads < 1 || heads % count != 0))
    c.fail(error_kind::argument, "%s.heads is %lld, must divide %lld (%s.heads)", v.name,
           static_cast<long long>(count), static_cast<long long>(heads), q.name);
  if (count != heads && heads > index_t{0xffffffff})
    c.fail(error_kind::argument, "%s.heads is %lld, must be below 2^32 for grouped heads", q.name,
           static_cast<long long>(heads));
}
// Checks that `view` has the length of `rows` and the width of `width`.
inline void check_matrix(checker& c, attention_view const& view, attention_view const& rows,
                         attention_view const& width, char const* width_axis) {
  check_axis(c, view, view.axes.length, view.shape.length, rows, rows.axes.length,
             rows.shape.length);
  check_axis(c, view, view.axes.channels, view.shape.channels, width, width_axis,
             width_axis == width.axes.length ? width.shape.length : width.shape.channels);
}
// Checks that `view` also has the batch and heads of `like`.
inline void check_rows(checker& c, attention_view const& view, attention_view const& like,
                       attention_view const& rows, attention_view const& width,
                       char const* width_axis) {
  check_heads(c, view, like);
  check_matrix(c, view, rows, width, width_axis);
}
inline void check_rows(checker& c, attention_view const& view, attention_view const& like,
                       attention_view const& rows, attention_view const& width) {
  check_rows(c, view, like, rows, width, width.axes.channels);
}

// Checks a policy value that multiplies or is added to values of type A. The limit leaves room for
// the constants it is multiplied by.
template <class A>
void check_policy_value(checker& c, char const* name, double value) {
  constexpr double limit = sizeof(A) == sizeof(double) ? 1e300 : 1e38;
  if (!(std::fabs(value) <= limit))
    c.fail(error_kind::argument, "%s is %g, must be in -%g..%g", name, value, limit, limit);
}

// Descriptions of the inputs of a call, or of their gradients.
struct attention_info {
  attention_view q, k, v;
  attention_view extra;  // bias, or matrix of random features
  bool has[4];           // true if the caller passed q, k, v, extra

  template <class T>
  attention_info(tensor4<T> queries, tensor4<T> keys, tensor4<T> values,
                 attention_view const& extra_view, bool has_extra)
      : q(describe(extra_view.written ? "dq" : "q", queries, extra_view.written)),
        k(describe(extra_view.written ? "dk" : "k", keys, extra_view.written)),
        v(describe(extra_view.written ? "dv" : "v", values, extra_view.written)),
        extra(extra_view),
        has{!extra_view.written || !is_omitted(queries), !extra_view.written || !is_omitted(keys),
            !extra_view.written || !is_omitted(values), has_extra} {}

  // Calls f(view) for each tensor that the caller passed.
  template <class F>
  void for_each(F const& f) const {
    attention_view const* const views[] = {&q, &k, &v, &extra};
    for (int i = 0; i < 4; ++i)
      if (has[i]) f(*views[i]);
  }
};

// Checks the inputs of a call.
inline void check_inputs(checker& c, attention_info const& inputs,
                         attention_lengths const& lengths) {
  inputs.for_each([&](view_info const& view) { c.view(view); });
  attention_view const &q = inputs.q, &k = inputs.k, &v = inputs.v;
  check_kv_heads(c, v, q);
  c.extent(k, "batch", k.shape.batch, q.name, q.shape.batch);
  c.extent(k, "heads", k.shape.heads, v.name, v.shape.heads);
  check_matrix(c, k, k, q, q.axes.channels);
  check_matrix(c, v, k, v, v.axes.channels);
  c.rows_countable(inputs.q);
  c.rows_countable(inputs.k);
  c.lengths("lengths", lengths.keys, inputs.q.shape.batch, inputs.k.shape.length);
  c.lengths("query_lengths", lengths.queries, inputs.q.shape.batch, inputs.q.shape.length);
}

// Shapes of all tensors, from the shapes of q and v. The caller checks y after its other arguments.
struct attention_shapes {
  attention_view q, k, v, y;

  attention_shapes(extents4 q_extents, extents4 v_extents)
      : q(describe_shape("q", q_extents)),
        k(describe_shape("k",
                         {q_extents.batch, v_extents.heads, v_extents.length, q_extents.channels})),
        v(describe_shape("v", v_extents)),
        y(describe_shape(
            "y", {q_extents.batch, q_extents.heads, q_extents.length, v_extents.channels})) {}

  // Checks the shapes of the inputs, and of `extra`.
  void check_inputs(checker& c, view_info const* extra = nullptr) const {
    for (view_info const& view : {q, k, v}) c.shape(view);
    if (extra != nullptr) c.shape(*extra);
    check_kv_heads(c, v, q);
    c.rows_countable(q);
    c.rows_countable(k);
  }
};

// Checks y or dy: one row per query, as wide as v.
inline void check_output(checker& c, attention_view const& y, attention_info const& inputs) {
  c.view(y);
  check_rows(c, y, inputs.q, inputs.q, inputs.v);
}

// Checks that gradients have the shapes of their inputs.
inline void check_gradients(checker& c, attention_info const& grads, attention_info const& inputs) {
  grads.for_each([&](view_info const& gradient) { c.view(gradient); });
  auto const check_like = [&](bool requested, attention_view const& gradient,
                              attention_view const& input) {
    if (requested) check_rows(c, gradient, input, input, input);
  };
  check_like(grads.has[0], grads.q, inputs.q);
  check_like(grads.has[1], grads.k, inputs.k);
  check_like(grads.has[2], grads.v, inputs.v);
}

// Checks that gradients do not overlap each other, the inputs or the `others`.
template <class... View>
void check_overlaps(checker& c, attention_info const& grads, attention_info const& inputs,
                    View const&... others) {
  grads.for_each([&](view_info const& gradient) {
    inputs.for_each([&](view_info const& input) { c.no_overlap(gradient, input); });
    (c.no_overlap(gradient, others), ...);
    grads.for_each([&](view_info const& other) {
      if (&other != &gradient) c.no_overlap(gradient, other);
    });
  });
}

SLICESORT_DETAIL_END
