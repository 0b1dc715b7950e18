// SPDX-License-Identifier: Apache-2.0
// Feature maps of a user's own for linear attention, decided at run time, so that the tests compile
// it once for all: one that repeats a map of the library, and one that looks at all that it is
// told of a row; and a wrong one.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/tensor_view.hpp>

namespace support {

enum class own_kind { relu, by_place, counted };

struct own_feature {
  own_kind kind = own_kind::relu;
  double eps = 0;

  // counted: as many as eps says, whatever that is.
  SLICESORT_HD slicesort::index_t features(slicesort::index_t channels) const {
    if (kind == own_kind::counted) return static_cast<slicesort::index_t>(eps);
    return kind == own_kind::relu ? channels : 2 * channels + 1;
  }
  // relu: max(x, 0) + eps. by_place: [a x, (1 - a) x^2, eps] with a = (i + 1) / (2 L).
  template <class A>
  SLICESORT_HD void map(slicesort::feature_row row, A const* x, A* phi) const {
    A const a = share<A>(row);
    for (slicesort::index_t c = 0; c < row.channels; ++c) {
      if (kind == own_kind::relu) {
        phi[c] = (x[c] > A(0) ? x[c] : A(0)) + static_cast<A>(eps);
      } else {
        phi[c] = a * x[c];
        phi[row.channels + c] = (1 - a) * x[c] * x[c];
      }
    }
    if (kind == own_kind::by_place) phi[2 * row.channels] = static_cast<A>(eps);
  }
  template <class A>
  SLICESORT_HD void backward(slicesort::feature_row row, A const* x, A const* dphi, A* dx) const {
    A const a = share<A>(row);
    for (slicesort::index_t c = 0; c < row.channels; ++c)
      dx[c] = kind == own_kind::by_place ? a * dphi[c] + 2 * (1 - a) * x[c] * dphi[row.channels + c]
              : x[c] > A(0)              ? dphi[c]
                                         : A(0);
  }
  char const* validate(slicesort::index_t channels) const {
    if (eps < 0) return "own_feature: eps must not be negative";
    return channels % 100 == 99 ? "own_feature: channels must not end with 99" : nullptr;
  }

 private:
  template <class A>
  SLICESORT_HD static A share(slicesort::feature_row row) {
    return static_cast<A>(row.index + 1) / static_cast<A>(2 * row.length);
  }
};

}  // namespace support
