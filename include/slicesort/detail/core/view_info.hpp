// SPDX-License-Identifier: Apache-2.0
// What the checks must know about a view: shape, strides and address, without its type.
#pragma once

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdio>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

// The names of the axes of a view in messages. A view of rank 3 is a stack of one, whose outer axis
// has no name.
struct axis_names {
  char const *outer, *batch, *length, *channels;
};
inline constexpr axis_names three_axes{nullptr, "batch", "length", "channels"};

struct view_info {
  char const* name = nullptr;
  void const* data = nullptr;
  index_t element_bytes = 0;
  extents4 extents{};
  strides4 strides{};
  bool written = false;
  axis_names axes = three_axes;
};

constexpr extents4 stack_of_one(extents3 e) { return {1, e.batch, e.length, e.channels}; }
constexpr strides4 stack_of_one(strides3 s) { return {0, s.batch, s.length, s.channels}; }

// The description of a view that has data().
template <class View>
view_info describe(char const* name, View const& v, std::size_t element_bytes, bool written) {
  view_info info;
  info.name = name;
  info.data = v.data();
  info.element_bytes = static_cast<index_t>(element_bytes);
  info.written = written;
  return info;
}
template <class T>
view_info describe(char const* name, tensor3<T> v, bool written) {
  view_info info = describe(name, v, sizeof(T), written);
  info.extents = stack_of_one(v.extents());
  info.strides = stack_of_one(v.strides());
  return info;
}
template <bool Const>
view_info describe(char const* name, basic_index_tensor3<Const> v, bool written) {
  view_info info = describe(name, v, static_cast<std::size_t>(v.width()), written);
  info.extents = stack_of_one(v.extents());
  info.strides = stack_of_one(v.strides());
  return info;
}
// A view of one axis is described as one whose other axes have one element.
template <class T>
view_info describe(char const* name, tensor1<T> v, bool written) {
  view_info info = describe(name, v, sizeof(T), written);
  info.extents = {1, 1, v.size(), 1};
  info.strides = {0, 0, v.stride(), 0};
  return info;
}
template <class T>
view_info describe(char const* name, tensor4<T> v, bool written, axis_names axes) {
  view_info info = describe(name, v, sizeof(T), written);
  info.extents = v.extents();
  info.strides = v.strides();
  info.axes = axes;
  return info;
}

// The description of a shape for which there is no memory yet: without data, strides and a type.
inline view_info describe_shape(char const* name, extents4 e, axis_names axes) {
  view_info info;
  info.name = name;
  info.extents = e;
  info.axes = axes;
  return info;
}
inline view_info describe_shape(char const* name, extents3 e) {
  return describe_shape(name, stack_of_one(e), three_axes);
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
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
