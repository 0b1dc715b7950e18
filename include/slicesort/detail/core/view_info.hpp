// SPDX-License-Identifier: Apache-2.0
// A view without its type, for checks: shape, strides and address.
#pragma once

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdio>
#include <new>

SLICESORT_DETAIL_BEGIN

// Names of a view's axes in messages. A view of rank 3 is a stack of one tensor, whose outer axis
// has no name.
struct axis_names {
  char const *outer, *batch, *length, *channels;
};
inline constexpr axis_names three_axes{nullptr, "batch", "length", "channels"};

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

// List of up to Capacity views, in uninitialized memory, since most calls have few.
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

template <class View>
view_info describe(char const* name, View const& v, element_size element, bool written) {
  view_info info;
  info.name = name;
  info.data = v.data();
  info.element_bytes = static_cast<index_t>(element.bytes);
  info.alignment = static_cast<index_t>(element.alignment);
  info.written = written;
  return info;
}
template <class T>
view_info describe(char const* name, tensor3<T> v, bool written) {
  view_info info = describe(name, v, element_size::make<T>(), written);
  info.extents = stack_of_one(v.extents());
  info.strides = stack_of_one(v.strides());
  return info;
}
template <bool Const>
view_info describe(char const* name, basic_index_tensor3<Const> v, bool written) {
  auto const bytes = static_cast<std::size_t>(v.width());
  view_info info = describe(name, v, element_size{bytes, bytes}, written);
  info.extents = stack_of_one(v.extents());
  info.strides = stack_of_one(v.strides());
  return info;
}
// Describes a view of one axis as one whose other axes have extent 1.
template <class T>
view_info describe(char const* name, tensor1<T> v, bool written) {
  view_info info = describe(name, v, element_size::make<T>(), written);
  info.axes.length = nullptr;
  info.extents = {1, 1, v.size(), 1};
  info.strides = {0, 0, v.stride(), 0};
  return info;
}
template <class T>
view_info describe(char const* name, tensor_stack<T> v, bool written, axis_names axes) {
  view_info info = describe(name, v, element_size::make<T>(), written);
  info.extents = v.extents();
  info.strides = v.strides();
  info.axes = axes;
  return info;
}

// Describes untyped memory as one unaligned element.
inline view_info describe_bytes(char const* name, void const* data, std::size_t bytes) {
  view_info info;
  info.name = name;
  info.data = data;
  info.element_bytes = static_cast<index_t>(bytes);
  info.extents = {1, 1, 1, 1};
  return info;
}

// True for views of the same elements in the same order. Ignores strides of axes of extent 1.
inline bool same_elements(view_info const& a, view_info const& b) {
  auto const same = [](index_t extent, index_t first, index_t second) {
    return extent == 1 || first == second;
  };
  stack_extents const e = a.extents;
  stack_strides const s = a.strides, t = b.strides;
  return a.data == b.data && a.element_bytes == b.element_bytes && e == b.extents &&
         same(e.outer, s.outer, t.outer) && same(e.batch, s.batch, t.batch) &&
         same(e.length, s.length, t.length) && same(e.channels, s.channels, t.channels);
}

// Describes a shape without memory.
inline view_info describe_shape(char const* name, stack_extents e, axis_names axes) {
  view_info info;
  info.name = name;
  info.extents = e;
  info.axes = axes;
  return info;
}
inline view_info describe_shape(char const* name, extents3 e) {
  return describe_shape(name, stack_of_one(e), three_axes);
}

// Text of a shape or strides in a message.
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
  stack_extents const e = v.extents;
  return shape_of(v.axes, e.outer, e.batch, e.length, e.channels);
}
inline shape_text strides_of(view_info const& v) {
  stack_strides const s = v.strides;
  return shape_of(v.axes, s.outer, s.batch, s.length, s.channels);
}

SLICESORT_DETAIL_END
