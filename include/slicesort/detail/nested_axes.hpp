// SPDX-License-Identifier: Apache-2.0
// Arithmetic of strided axes: whether a view's elements are distinct, and whether two views meet.
#pragma once

#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {
namespace detail {

// One axis of a view, for the overlap arithmetic.
struct span_axis {
  index_t extent, stride;
};
struct nested_axes {
  span_axis axis[3];  // by falling stride
  bool nested;        // each stride steps over everything that the smaller ones can reach

  nested_axes(extents3 e, strides3 s)
      : axis{{e.batch, s.batch}, {e.length, s.length}, {e.channels, s.channels}} {
    for (auto& a : axis)
      if (a.extent == 1) a.stride = 0;  // never stepped
    auto const order = [this](int i, int j) {
      if (axis[i].stride < axis[j].stride) {
        span_axis const t = axis[i];
        axis[i] = axis[j];
        axis[j] = t;
      }
    };
    order(0, 1), order(1, 2), order(0, 1);
    index_t reach = 0;
    nested = true;
    for (int i = 2; i >= 0; --i) {
      if (axis[i].extent > 1 && axis[i].stride <= reach) nested = false;
      reach += (axis[i].extent - 1) * axis[i].stride;
    }
  }

  // Is there a difference of two positions in the view with offset `d`? Exact when nested.
  bool reaches(index_t d, int i = 0) const {
    if (i == 3) return d == 0;
    if (axis[i].stride == 0) return reaches(d, i + 1);
    index_t const q = d >= 0 ? d / axis[i].stride : -((-d + axis[i].stride - 1) / axis[i].stride);
    for (index_t k = q; k <= q + 1; ++k)
      if (k < axis[i].extent && -k < axis[i].extent && reaches(d - k * axis[i].stride, i + 1))
        return true;
    return false;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace slicesort
