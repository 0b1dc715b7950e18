// SPDX-License-Identifier: Apache-2.0
// Type-erased user-defined feature map, and scalar arithmetic on the host.
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

// Type-erased feature map on rows of type A; all members are null for built-in maps.
template <class A>
struct erased_feature {
  void const* feature = nullptr;
  void (*map)(void const* feature, feature_row, A const* x, A* phi) = nullptr;
  void (*backward)(void const* feature, feature_row, A const* x, A const* dphi, A* dx) = nullptr;

  template <class Feature>
  static erased_feature make(Feature const& feature) {
    if constexpr (std::is_same_v<Feature, built_in_feature>)
      return (void)feature, erased_feature{};
    else
      return {&feature,
              [](void const* erased, feature_row row, A const* x, A* phi) {
                static_cast<Feature const*>(erased)->map(row, x, phi);
              },
              [](void const* erased, feature_row row, A const* x, A const* dphi, A* dx) {
                custom_feature_backward(*static_cast<Feature const*>(erased), row, x, dphi, dx);
              }};
  }
};

SLICESORT_DETAIL_END
