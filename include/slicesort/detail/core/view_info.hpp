// SPDX-License-Identifier: Apache-2.0
// Type-erased description of a view for checks: shape, strides and address.
#pragma once

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <new>

SLICESORT_DETAIL_BEGIN

// Names of a view's axes in error messages. A view of rank 3 is a stack of one tensor; the axis of
// the stack has no name.
struct axis_names {
  char const *outer, *batch, *length, *channels;
};
inline constexpr axis_names three_axes{nullptr, "batch", "length", "channels"};

// View as the checks see it. `written` is true for outputs.
struct view_info {
  char const* name = nullptr;
  void const* data = nullptr;
  index_t element_bytes = 0;
  index_t alignment = 1;
  stack_extents extents{};
  stack_strides strides{};
  bool written = false;
  axis_names axes = three_axes;
};

// List of up to Capacity views. Uses uninitialized memory, because most calls have few views.
template <int Capacity>
class view_list {
 public:
  void add(view_info const& v) {
    if (size_ < Capacity) ::new (static_cast<void*>(memory_ + size_++ * sizeof v)) view_info(v);
  }
  view_info const* begin() const { return reinterpret_cast<view_info const*>(memory_); }
  view_info const* end() const { return begin() + size_; }

 private:
  alignas(view_info) unsigned char memory_[std::size_t{Capacity} * sizeof(view_info)];
  std::size_t size_ = 0;
};

constexpr stack_extents stack_of_one(extents3 e) { return {1, e.batch, e.length, e.channels}; }
constexpr stack_strides stack_of_one(strides3 s) { return {0, s.batch, s.length, s.channels}; }

struct element_size {
  std::size_t bytes, alignment;

  template <class T>
  static constexpr element_size make() {
    return {sizeof(T), alignof(T)};
  }
};

inline view_info describe(char const* name, void const* data, element_size element,
                          stack_extents extents, stack_strides strides, axis_names axes,
                          bool written) {
  view_info info;
  info.name = name;
  info.data = data;
  info.element_bytes = static_cast<index_t>(element.bytes);
  info.alignment = static_cast<index_t>(element.alignment);
  info.extents = extents;
  info.strides = strides;
  info.axes = axes;
  info.written = written;
  return info;
}
template <class T>
view_info describe(char const* name, tensor3<T> v, bool written) {
  return describe(name, v.data(), element_size::make<T>(), stack_of_one(v.extents()),
                  stack_of_one(v.strides()), three_axes, written);
}
template <bool Const>
view_info describe(char const* name, basic_index_tensor3<Const> v, bool written) {
  auto const bytes = static_cast<std::size_t>(v.width());
  return describe(name, v.data(), {bytes, bytes}, stack_of_one(v.extents()),
                  stack_of_one(v.strides()), three_axes, written);
}
// Describes a view of rank 1. Its other axes get extent 1.
template <class T>
view_info describe(char const* name, tensor1<T> v, bool written) {
  return describe(name, v.data(), element_size::make<T>(), {1, 1, v.size(), 1},
                  {0, 0, v.stride(), 0}, {nullptr, "batch", nullptr, "channels"}, written);
}
template <class T>
view_info describe(char const* name, tensor_stack<T> v, bool written, axis_names axes) {
  return describe(name, v.data(), element_size::make<T>(), v.extents(), v.strides(), axes, written);
}
// Describes untyped memory as a single element without alignment.
inline view_info describe_bytes(char const* name, void const* data, std::size_t bytes) {
  return describe(name, data, {bytes, 1}, {1, 1, 1, 1}, {}, three_axes, false);
}
inline view_info describe_shape(char const* name, stack_extents e, axis_names axes) {
  return describe(name, nullptr, {0, 1}, e, {}, axes, false);
}
inline view_info describe_shape(char const* name, extents3 e) {
  return describe_shape(name, stack_of_one(e), three_axes);
}

// Axis of a view and its name in error messages; null if the axis has no name.
struct axis_info {
  char const* name;
  index_t extent, stride;
};
inline std::array<axis_info, 4> axes_of(view_info const& v) {
  return {{{v.axes.outer, v.extents.outer, v.strides.outer},
           {v.axes.batch, v.extents.batch, v.strides.batch},
           {v.axes.length, v.extents.length, v.strides.length},
           {v.axes.channels, v.extents.channels, v.strides.channels}}};
}

// True if both views have the same elements in the same order. Ignores strides of axes of extent 1.
inline bool have_same_elements(view_info const& a, view_info const& b) {
  bool same = a.data == b.data && a.element_bytes == b.element_bytes && a.extents == b.extents;
  for (std::size_t i = 0; i < 4; ++i)
    same &= axes_of(a)[i].extent == 1 || axes_of(a)[i].stride == axes_of(b)[i].stride;
  return same;
}

// Shape or strides of a view, formatted for an error message.
struct shape_text {
  char text[96];
};
inline shape_text format_shape(axis_names const& axes, index_t outer, index_t batch, index_t length,
                               index_t channels) {
  shape_text t;
  char outer_text[24] = "";
  if (axes.outer != nullptr)
    std::snprintf(outer_text, sizeof outer_text, "%lld, ", static_cast<long long>(outer));
  std::snprintf(t.text, sizeof t.text, "[%s%lld, %lld, %lld]", outer_text,
                static_cast<long long>(batch), static_cast<long long>(length),
                static_cast<long long>(channels));
  return t;
}
inline shape_text format_shape(view_info const& v) {
  stack_extents const e = v.extents;
  return format_shape(v.axes, e.outer, e.batch, e.length, e.channels);
}
inline shape_text format_strides(view_info const& v) {
  stack_strides const s = v.strides;
  return format_shape(v.axes, s.outer, s.batch, s.length, s.channels);
}

SLICESORT_DETAIL_END
