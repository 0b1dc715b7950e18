// SPDX-License-Identifier: Apache-2.0
// Tests on strided axes: distinctness of a view's elements, and overlap of two views. Strides of
// axes of extent 1 are ignored.
#pragma once

#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Axes of a view with an extent above 1, by descending stride.
struct nontrivial_axes {
  static constexpr int max_axes = 4;
  struct axis {
    index_t extent, stride;
  };
  axis axes[max_axes];
  int count = 0;

  explicit nontrivial_axes(view_info const& v) {
    for (axis_info const& a : axes_of(v)) {
      if (a.extent == 1) continue;
      int i = count++;
      for (; i > 0 && axes[i - 1].stride < a.stride; --i) axes[i] = axes[i - 1];
      axes[i] = {a.extent, a.stride};
    }
  }

  // True if each stride exceeds the span of all smaller ones, so elements are distinct.
  bool have_nested_strides() const {
    index_t reach = 0;
    for (int i = count - 1; i >= 0; --i) {
      if (axes[i].stride <= reach) return false;
      reach += (axes[i].extent - 1) * axes[i].stride;
    }
    return true;
  }
};

// Bytes of a view without negative strides: contiguous chunks, repeated along axes whose byte
// stride exceeds the size of a chunk.
struct byte_pattern {
  nontrivial_axes repeats;
  index_t chunk_bytes;

  explicit byte_pattern(view_info const& v) : repeats(v), chunk_bytes(v.element_bytes) {
    for (int i = 0; i < repeats.count; ++i) repeats.axes[i].stride *= v.element_bytes;
    for (; repeats.count > 0; --repeats.count) {
      nontrivial_axes::axis const a = repeats.axes[repeats.count - 1];
      if (a.stride > chunk_bytes) break;
      chunk_bytes += (a.extent - 1) * a.stride;
    }
  }
};

inline index_t byte_span(view_info const& v) {
  index_t span = 1;
  for (axis_info const& a : axes_of(v)) span += (a.extent - 1) * a.stride;
  return span * v.element_bytes;
}

// True if two views share a byte. Exact for typical views, such as slices of a packed tensor. Also
// returns true if the search would take too long.
class byte_overlap {
 public:
  static bool between(view_info const& a, view_info const& b) {
    auto const a0 = reinterpret_cast<std::uintptr_t>(a.data),
               b0 = reinterpret_cast<std::uintptr_t>(b.data);
    index_t const span_a = byte_span(a), span_b = byte_span(b);
    if (a0 + static_cast<std::uintptr_t>(span_a) <= b0 ||
        b0 + static_cast<std::uintptr_t>(span_b) <= a0)
      return false;
    constexpr index_t large = index_t{1} << 61;  // sums of smaller values cannot overflow
    if (span_a > large || span_b > large) return true;
    index_t const distance =
        b0 > a0 ? static_cast<index_t>(b0 - a0) : -static_cast<index_t>(a0 - b0);
    return byte_overlap(byte_pattern(a), byte_pattern(b)).search(0, distance);
  }

 private:
  // Along this axis, the distance between the views' elements changes by `min` to `max` strides.
  struct axis {
    index_t stride, min, max;
  };

  byte_overlap(byte_pattern const& a, byte_pattern const& b)
      : reach_above_(a.chunk_bytes), reach_below_(b.chunk_bytes) {
    int i = 0, j = 0;
    while (i < a.repeats.count || j < b.repeats.count) {
      index_t const stride_a = i < a.repeats.count ? a.repeats.axes[i].stride : 0,
                    stride_b = j < b.repeats.count ? b.repeats.axes[j].stride : 0;
      axis& next = axes_[count_++] = {stride_a > stride_b ? stride_a : stride_b, 0, 0};
      if (stride_a == next.stride) next.min = 1 - a.repeats.axes[i++].extent;
      if (stride_b == next.stride) next.max = b.repeats.axes[j++].extent - 1;
    }
    for (int k = 0; k < count_; ++k) {
      reach_above_ -= axes_[k].min * axes_[k].stride;
      reach_below_ += axes_[k].max * axes_[k].stride;
    }
  }

  // True if steps along axes `i` and later, starting at `distance`, make two chunks overlap.
  // Requires that these axes can bridge the distance.
  bool search(int i, index_t distance) {
    if (i == count_) return -reach_below_ < distance && distance < reach_above_;
    if (--remaining_steps_ < 0) return true;
    axis const a = axes_[i];
    index_t const axis_above = -a.min * a.stride, axis_below = a.max * a.stride;
    reach_above_ -= axis_above, reach_below_ -= axis_below;
    index_t first = first_above((-reach_below_ - distance), a.stride),
            last = -first_above((distance - reach_above_), a.stride);
    if (first < a.min) first = a.min;
    if (last > a.max) last = a.max;
    bool found = false;
    for (index_t k = first; !found && k <= last; ++k)
      found = search(i + 1, distance + k * a.stride);
    reach_above_ += axis_above, reach_below_ += axis_below;
    return found;
  }
  // Returns the smallest k with k * stride > n.
  static index_t first_above(index_t n, index_t stride) {
    return n >= 0 ? n / stride + 1 : -((-n - 1) / stride);
  }

  axis axes_[2 * nontrivial_axes::max_axes];
  int count_ = 0;
  int remaining_steps_ = 1000;
  index_t reach_above_, reach_below_;  // the remaining axes bridge distances -below .. above
};

SLICESORT_DETAIL_END
