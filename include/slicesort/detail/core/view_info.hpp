// SPDX-License-Identifier: Apache-2.0
// What the checks must know about a view: shape, strides and address, without its type.
#pragma once

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdio>

namespace slicesort {
inline namespace v0 {
namespace detail {

// How messages call the axes of a view. A view of rank 3 is a stack of one, whose outer axis has no
// name.
struct axis_names {
  char const *outer, *batch, *length, *channels;
};
inline constexpr axis_names three_axes{nullptr, "batch", "length", "channels"};

struct view_info {
  char const* name;
  void const* data;
  index_t element_bytes;
  extents4 extents;
  strides4 strides;
  bool written;
  axis_names axes = three_axes;
};

constexpr extents4 stack_of_one(extents3 e) { return {1, e.batch, e.length, e.channels}; }
constexpr strides4 stack_of_one(strides3 s) { return {0, s.batch, s.length, s.channels}; }

template <class T>
view_info describe(char const* name, tensor3<T> v, bool written) {
  return {name,
          v.data(),
          static_cast<index_t>(sizeof(T)),
          stack_of_one(v.extents()),
          stack_of_one(v.strides()),
          written};
}
template <bool Const>
view_info describe(char const* name, basic_index_tensor3<Const> v, bool written) {
  return {name,
          v.data(),
          static_cast<index_t>(v.width()),
          stack_of_one(v.extents()),
          stack_of_one(v.strides()),
          written};
}
// A view of one axis, as one whose other axes are 1.
template <class T>
view_info describe(char const* name, tensor1<T> v, bool written) {
  return {
      name,   v.data(), static_cast<index_t>(sizeof(T)), {1, 1, v.size(), 1}, {0, 0, v.stride(), 0},
      written};
}
template <class T>
view_info describe(char const* name, tensor4<T> v, bool written, axis_names axes) {
  return {name, v.data(), static_cast<index_t>(sizeof(T)), v.extents(), v.strides(), written, axes};
}

// A shape as a message shows it.
struct shape_text {
  char text[96];
};
inline shape_text shape_of(axis_names const& axes, index_t outer, index_t batch, index_t length,
                           index_t channels) {
  shape_text t;
  char first[24] = "";
  if (axes.outer != nullptr)
    std::snprintf(first, sizeof first, "%lld, ", static_cast<long long>(outer));
  std::snprintf(t.text, sizeof t.text, "[%s%lld, %lld, %lld]", first, static_cast<long long>(batch),
                static_cast<long long>(length), static_cast<long long>(channels));
  return t;
}
inline shape_text shape_of(view_info const& v) {
  extents4 const e = v.extents;
  return shape_of(v.axes, e.outer, e.batch, e.length, e.channels);
}
inline shape_text strides_of(view_info const& v) {
  strides4 const s = v.strides;
  return shape_of(v.axes, s.outer, s.batch, s.length, s.channels);
}

}  // namespace detail
}  // namespace v0
}  // namespace slicesort
