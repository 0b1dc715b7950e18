// SPDX-License-Identifier: Apache-2.0
// A feature map of the user's on the host, without its type, and the arithmetic of single numbers.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Functions of the user's feature map, for rows of numbers A.
template <class A>
struct custom_feature {
  void const* self = nullptr;
  void (*map)(void const* self, feature_row, A const* x, A* phi) = nullptr;
  void (*pull)(void const* self, feature_row, A const* x, A const* dphi, A* dx) = nullptr;

  template <class Feature>
  static custom_feature of(Feature const& feature) {
    if constexpr (std::is_same_v<Feature, built_in_feature>)
      return (void)feature, custom_feature{};
    else
      return {&feature,
              [](void const* which, feature_row row, A const* x, A* phi) {
                static_cast<Feature const*>(which)->map(row, x, phi);
              },
              [](void const* which, feature_row row, A const* x, A const* dphi, A* dx) {
                static_cast<Feature const*>(which)->pull(row, x, dphi, dx);
              }};
  }
};

// Arithmetic of single numbers, for detail/linear_attention/feature_math.hpp.
template <class A>
struct single_arithmetic {
  SLICESORT_HD A fused_multiply_add(A a, A b, A c) const {
    return detail::fused_multiply_add(a, b, c);
  }
  SLICESORT_HD A divide(A a, A b) const { return a / b; }
};

SLICESORT_DETAIL_END
