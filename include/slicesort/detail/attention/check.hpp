// SPDX-License-Identifier: Apache-2.0
// Rules of the tensors that all operators of attention have: q, k and v, or their gradients, y and
// saved states.
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

// A tensor of attention, with its shape by the names of its axes.
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

// True if the caller left the tensor out.
template <class T>
bool is_left_out(tensor4<T> v) {
  return v.data() == nullptr && v.extents() == extents4{};
}

// An axis of one view must be as long as one of another, which may have another name.
inline void check_axis(checker& c, view_info const& of, char const* axis, index_t is,
                       view_info const& like, char const* other_axis, index_t want) {
  if (is != want)
    c.fail(error_kind::argument, "%s.%s is %lld, must be %lld (%s.%s)", of.name, axis,
           static_cast<long long>(is), static_cast<long long>(want), like.name, other_axis);
}

// Heads of `of` must be those of `like`.
inline void check_heads(checker& c, attention_view const& of, attention_view const& like) {
  c.extent(of, "batch", of.shape.batch, like.name, like.shape.batch);
  c.extent(of, "heads", of.shape.heads, like.name, like.shape.heads);
}
// Rows of `of`, one for each of `rows`, in the heads of `like`.
inline void check_rows(checker& c, attention_view const& of, attention_view const& like,
                       attention_view const& rows, attention_view const& width,
                       char const* width_axis) {
  check_heads(c, of, like);
  check_axis(c, of, of.axes.length, of.shape.length, rows, rows.axes.length, rows.shape.length);
  check_axis(c, of, of.axes.channels, of.shape.channels, width, width_axis,
             width_axis == width.axes.length ? width.shape.length : width.shape.channels);
}
inline void check_rows(checker& c, attention_view const& of, attention_view const& like,
                       attention_view const& rows, attention_view const& width) {
  check_rows(c, of, like, rows, width, width.axes.channels);
}

// A parameter that sums of type A are multiplied by, or added to: far enough from A's largest
// number for the constants that it is multiplied by beforehand.
template <class A>
void check_number(checker& c, char const* name, double number) {
  constexpr double limit = sizeof(A) == sizeof(double) ? 1e300 : 1e38;
  if (!(std::fabs(number) <= limit))
    c.fail(error_kind::argument, "%s is %g, must be in -%g..%g", name, number, limit, limit);
}

// Inputs of one call, or their gradients.
struct attention_info {
  attention_view q, k, v;
  attention_view extra;  // bias of softmax attention, matrix of random features
  bool has[4];

  template <class T>
  attention_info(tensor4<T> queries, tensor4<T> keys, tensor4<T> values,
                 attention_view const& other, bool has_other)
      : q(describe(other.written ? "dq" : "q", queries, other.written)),
        k(describe(other.written ? "dk" : "k", keys, other.written)),
        v(describe(other.written ? "dv" : "v", values, other.written)),
        extra(other),
        has{!other.written || !is_left_out(queries), !other.written || !is_left_out(keys),
            !other.written || !is_left_out(values), has_other} {}

  // Calls f(view) for the tensors that the caller gave.
  template <class F>
  void each(F const& f) const {
    attention_view const* const views[] = {&q, &k, &v, &extra};
    for (int i = 0; i < 4; ++i)
      if (has[i]) f(*views[i]);
  }
};

// Inputs of every call.
inline void check_inputs(checker& c, attention_info const& in, attention_lengths const& lengths) {
  in.each([&](view_info const& view) { c.view(view); });
  check_rows(c, in.k, in.q, in.k, in.q);
  check_rows(c, in.v, in.q, in.k, in.v);
  c.rows_countable(in.q);
  c.rows_countable(in.k);
  c.lengths("lengths", lengths.keys, in.q.shape.batch, in.k.shape.length);
  c.lengths("query_lengths", lengths.queries, in.q.shape.batch, in.q.shape.length);
}

// Shapes that follow from those of q and v. The rules of y are the last of a call.
struct attention_shapes {
  attention_view q, k, v, y;

  attention_shapes(extents4 of_q, extents4 of_v)
      : q(describe_shape("q", of_q)),
        k(describe_shape("k", {of_q.batch, of_q.heads, of_v.length, of_q.channels})),
        v(describe_shape("v", of_v)),
        y(describe_shape("y", {of_q.batch, of_q.heads, of_q.length, of_v.channels})) {}

  // Checks the inputs, `extra` among them, as check_inputs does.
  void check_inputs(checker& c, view_info const* extra = nullptr) const {
    for (view_info const& view : {q, k, v}) c.shape(view);
    if (extra != nullptr) c.shape(*extra);
    check_rows(c, v, q, k, v);
    c.rows_countable(q);
    c.rows_countable(k);
  }
};

// y or dy: a row of v's width for each of q's.
inline void check_output(checker& c, attention_view const& y, attention_info const& in) {
  c.view(y);
  check_rows(c, y, in.q, in.q, in.v);
}

// Gradients have the shapes of their inputs.
inline void check_gradients(checker& c, attention_info const& to, attention_info const& in) {
  to.each([&](view_info const& gradient) { c.view(gradient); });
  auto const like = [&](bool is_there, attention_view const& gradient, attention_view const& of) {
    if (is_there) check_rows(c, gradient, of, of, of);
  };
  like(to.has[0], to.q, in.q);
  like(to.has[1], to.k, in.k);
  like(to.has[2], to.v, in.v);
}

// Gradients share no element with each other, the inputs and `others`.
template <class... View>
void check_overlaps(checker& c, attention_info const& to, attention_info const& in,
                    View const&... others) {
  to.each([&](view_info const& gradient) {
    in.each([&](view_info const& input) { c.no_overlap(gradient, input); });
    (c.no_overlap(gradient, others), ...);
    to.each([&](view_info const& other) {
      if (&other != &gradient) c.no_overlap(gradient, other);
    });
  });
}

SLICESORT_DETAIL_END
