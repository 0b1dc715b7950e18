// SPDX-License-Identifier: Apache-2.0
// Rules of tensors [batch, heads, length, channels] that belong together.
#pragma once

#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>

SLICESORT_DETAIL_BEGIN

inline constexpr axis_names head_axes{"batch", "heads", "length", "channels"};

// Whether the caller left it out.
template <class T>
bool is_left_out(tensor4<T> v) {
  return v.data() == nullptr && v.extents() == extents4{};
}
template <class T>
bool is_left_out(tensor3<T> v) {
  return v.data() == nullptr && v.extents() == extents3{};
}

// An axis of one view must be as long as one of another, which may have another name.
inline void check_axis(checker& c, view_info const& of, char const* axis, index_t is,
                       view_info const& like, char const* other_axis, index_t want) {
  if (is != want)
    c.fail(error_kind::argument, "%s.%s is %lld, must be %lld (%s.%s)", of.name, axis,
           static_cast<long long>(is), static_cast<long long>(want), like.name, other_axis);
}

// Rows of `of`, one for each of some others: `like` says how many samples and heads there are.
inline void check_rows(checker& c, view_info const& of, view_info const& like,
                       view_info const& rows, view_info const& width, char const* width_axis) {
  c.extent(of, of.axes.outer, of.extents.outer, like.name, like.extents.outer);
  c.extent(of, of.axes.batch, of.extents.batch, like.name, like.extents.batch);
  check_axis(c, of, of.axes.length, of.extents.length, rows, rows.axes.length, rows.extents.length);
  check_axis(c, of, of.axes.channels, of.extents.channels, width, width_axis,
             width_axis == width.axes.length ? width.extents.length : width.extents.channels);
}

// A parameter that sums of type A are multiplied by, or added to: far enough from A's largest
// number for the constants that it is multiplied by beforehand.
template <class A>
void check_number(checker& c, char const* name, double number) {
  constexpr double limit = sizeof(A) == sizeof(double) ? 1e300 : 1e38;
  if (!(std::fabs(number) <= limit))
    c.fail(error_kind::argument, "%s is %g, must be in -%g..%g", name, number, limit, limit);
}

SLICESORT_DETAIL_END
