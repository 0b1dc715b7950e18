// SPDX-License-Identifier: Apache-2.0
// User-defined feature maps for linear attention, selected at run time, so that the tests are
// compiled once for all: a copy of the library's relu, a map that uses every field of feature_row,
// and an invalid one.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/tensor_view.hpp>

namespace support {

enum class custom_feature_kind { relu, positional, counted, row_scaled };

struct custom_feature {
  custom_feature_kind kind = custom_feature_kind::relu;
  double eps = 0;

  // `counted` returns eps, which may be an invalid number of features.
  SLICESORT_HD slicesort::index_t features(slicesort::index_t channels) const {
    if (kind == custom_feature_kind::counted) return static_cast<slicesort::index_t>(eps);
    return kind == custom_feature_kind::positional ? 2 * channels + 1 : channels;
  }
  // relu: max(x, 0) + eps; row_scaled: that times i + 1. positional: [a x, (1 - a) x^2, eps] with
  // a = (i + 1) / (2 L).
  template <class A>
  SLICESORT_HD void map(slicesort::feature_row row, A const* x, A* phi) const {
    A const a = position_fraction<A>(row);
    for (slicesort::index_t c = 0; c < row.channels; ++c) {
      if (kind != custom_feature_kind::positional) {
        phi[c] = (x[c] > A(0) ? x[c] : A(0)) + static_cast<A>(eps);
        if (kind == custom_feature_kind::row_scaled) phi[c] *= static_cast<A>(row.index + 1);
      } else {
        phi[c] = a * x[c];
        phi[row.channels + c] = (1 - a) * x[c] * x[c];
      }
    }
    if (kind == custom_feature_kind::positional) phi[2 * row.channels] = static_cast<A>(eps);
  }
  template <class A>
  SLICESORT_HD void backward(slicesort::feature_row row, A const* x, A const* dphi, A* dx) const {
    A const a = position_fraction<A>(row);
    A const scale = kind == custom_feature_kind::row_scaled ? static_cast<A>(row.index + 1) : A(1);
    for (slicesort::index_t c = 0; c < row.channels; ++c)
      dx[c] = kind == custom_feature_kind::positional
                  ? a * dphi[c] + 2 * (1 - a) * x[c] * dphi[row.channels + c]
              : x[c] > A(0) ? dphi[c] * scale
                            : A(0);
  }
  char const* validate(slicesort::index_t channels) const {
    if (eps < 0) return "custom_feature: eps must not be negative";
    return channels % 100 == 99 ? "custom_feature: channels must not end with 99" : nullptr;
  }

 private:
  template <class A>
  SLICESORT_HD static A position_fraction(slicesort::feature_row row) {
    return static_cast<A>(row.index + 1) / static_cast<A>(2 * row.length);
  }
};

}  // namespace support
