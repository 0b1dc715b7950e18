// SPDX-License-Identifier: Apache-2.0
// Arithmetic of strided axes: whether a view's elements are distinct, and whether two views share
// any.
#pragma once

#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

// One axis of a view, for the overlap arithmetic.
struct span_axis {
  index_t extent, stride;
};
struct nested_axes {
  static constexpr int count = 4;
  span_axis axis[count];  // by falling stride
  bool nested;            // each stride steps over everything that the smaller ones can reach

  nested_axes(extents4 e, strides4 s)
      : axis{{e.outer, s.outer},
             {e.batch, s.batch},
             {e.length, s.length},
             {e.channels, s.channels}} {
    for (auto& a : axis)
      if (a.extent == 1) a.stride = 0;  // never stepped
    for (int i = 1; i < count; ++i)
      for (int j = i; j > 0 && axis[j - 1].stride < axis[j].stride; --j) {
        span_axis const t = axis[j];
        axis[j] = axis[j - 1];
        axis[j - 1] = t;
      }
    index_t reach = 0;
    nested = true;
    for (int i = count - 1; i >= 0; --i) {
      if (axis[i].extent > 1 && axis[i].stride <= reach) nested = false;
      reach += (axis[i].extent - 1) * axis[i].stride;
    }
  }

  // Whether any two elements of the view are `d` apart. Exact if the axes are nested.
  bool reaches(index_t d, int i = 0) const {
    if (i == count) return d == 0;
    if (axis[i].stride == 0) return reaches(d, i + 1);
    index_t const q = d >= 0 ? d / axis[i].stride : -((-d + axis[i].stride - 1) / axis[i].stride);
    for (index_t k = q; k <= q + 1; ++k)
      if (k < axis[i].extent && -k < axis[i].extent && reaches(d - k * axis[i].stride, i + 1))
        return true;
    return false;
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
