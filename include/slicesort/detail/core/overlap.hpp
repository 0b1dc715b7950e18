// SPDX-License-Identifier: Apache-2.0
// Arithmetic of strided axes: whether a view's elements are distinct, and whether two views share
// memory. Axes of extent 1 have no step, so their strides are ignored.
#pragma once

#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <initializer_list>

SLICESORT_DETAIL_BEGIN

// The axes of a view that have a step, by falling stride.
struct stepped_axes {
  static constexpr int max_axes = 4;
  struct axis {
    index_t extent, stride;
  };
  axis axes[max_axes];
  int count = 0;

  explicit stepped_axes(view_info const& v) {
    stack_extents const e = v.extents;
    stack_strides const s = v.strides;
    for (axis const a : {axis{e.outer, s.outer}, axis{e.batch, s.batch}, axis{e.length, s.length},
                         axis{e.channels, s.channels}}) {
      if (a.extent == 1) continue;
      int i = count++;
      for (; i > 0 && axes[i - 1].stride < a.stride; --i) axes[i] = axes[i - 1];
      axes[i] = a;
    }
  }

  // True if each stride steps over everything that the smaller ones can reach.
  bool nested() const {
    index_t reach = 0;
    for (int i = count - 1; i >= 0; --i) {
      if (axes[i].stride <= reach) return false;
      reach += (axes[i].extent - 1) * axes[i].stride;
    }
    return true;
  }
};

// The bytes of a view without negative strides: pieces of adjacent bytes, repeated along axes whose
// strides, in bytes, are larger than a piece.
struct byte_pattern {
  stepped_axes repeats;
  index_t piece;

  explicit byte_pattern(view_info const& v) : repeats(v), piece(v.element_bytes) {
    for (int i = 0; i < repeats.count; ++i) repeats.axes[i].stride *= v.element_bytes;
    for (; repeats.count > 0; --repeats.count) {
      stepped_axes::axis const a = repeats.axes[repeats.count - 1];
      if (a.stride > piece) break;
      piece += (a.extent - 1) * a.stride;
    }
  }
};

// Bytes from the first one of a view to the one past the last.
inline index_t reach_of(view_info const& v) {
  return ((v.extents.outer - 1) * v.strides.outer + (v.extents.batch - 1) * v.strides.batch +
          (v.extents.length - 1) * v.strides.length +
          (v.extents.channels - 1) * v.strides.channels + 1) *
         v.element_bytes;
}

// Decides whether two views share a byte. Exact for the views that occur, such as slices of a
// packed tensor; where a search would take long, the answer is yes.
class byte_overlap {
 public:
  static bool between(view_info const& a, view_info const& b) {
    auto const a0 = reinterpret_cast<std::uintptr_t>(a.data),
               b0 = reinterpret_cast<std::uintptr_t>(b.data);
    index_t const reach_a = reach_of(a), reach_b = reach_of(b);
    if (a0 + static_cast<std::uintptr_t>(reach_a) <= b0 ||
        b0 + static_cast<std::uintptr_t>(reach_b) <= a0)
      return false;
    constexpr index_t large = index_t{1} << 61;  // no sum of smaller numbers overflows
    if (reach_a > large || reach_b > large) return true;
    index_t const apart = b0 > a0 ? static_cast<index_t>(b0 - a0) : -static_cast<index_t>(a0 - b0);
    return byte_overlap(byte_pattern(a), byte_pattern(b)).meet(0, apart);
  }

 private:
  // The distance between an element of each view changes by least .. greatest strides.
  struct axis {
    index_t stride, least, greatest;
  };

  byte_overlap(byte_pattern const& a, byte_pattern const& b) : above_(a.piece), below_(b.piece) {
    int i = 0, j = 0;
    while (i < a.repeats.count || j < b.repeats.count) {
      index_t const of_a = i < a.repeats.count ? a.repeats.axes[i].stride : 0,
                    of_b = j < b.repeats.count ? b.repeats.axes[j].stride : 0;
      axis& next = axes_[count_++] = {of_a > of_b ? of_a : of_b, 0, 0};
      if (of_a == next.stride) next.least = 1 - a.repeats.axes[i++].extent;
      if (of_b == next.stride) next.greatest = b.repeats.axes[j++].extent - 1;
    }
    for (int k = 0; k < count_; ++k) {
      above_ -= axes_[k].least * axes_[k].stride;
      below_ += axes_[k].greatest * axes_[k].stride;
    }
  }

  // True if pieces meet that are `apart` before axes `i` .. are stepped along. `above_` and
  // `below_` say how far apart those can be that these steps still bring together.
  bool meet(int i, index_t apart) {
    if (i == count_) return -below_ < apart && apart < above_;
    if (--left_ < 0) return true;
    axis const a = axes_[i];
    index_t const up = -a.least * a.stride, down = a.greatest * a.stride;
    above_ -= up, below_ -= down;
    index_t first = least_above((-below_ - apart), a.stride),
            last = -least_above((apart - above_), a.stride);
    if (first < a.least) first = a.least;
    if (last > a.greatest) last = a.greatest;
    bool met = false;
    for (index_t k = first; !met && k <= last; ++k) met = meet(i + 1, apart + k * a.stride);
    above_ += up, below_ += down;
    return met;
  }
  // The least k with k * stride > n.
  static index_t least_above(index_t n, index_t stride) {
    return n >= 0 ? n / stride + 1 : -((-n - 1) / stride);
  }

  axis axes_[2 * stepped_axes::max_axes];
  int count_ = 0;
  int left_ = 1000;  // steps of the search
  index_t above_, below_;
};

SLICESORT_DETAIL_END
