// SPDX-License-Identifier: Apache-2.0
// What the tasks of a linear_attention call share on the host: a call without its types, one head
// of it, and the widths of a task's matrices.
#pragma once

#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/linear_attention/feature_rule.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline constexpr int tile_rows_of_linear = linear_attention_tile;

// A feature map of the user's own, for rows of numbers A.
template <class A>
struct own_feature {
  void const* self = nullptr;
  void (*map)(void const* self, feature_row, A const* x, A* phi) = nullptr;
  void (*pull)(void const* self, feature_row, A const* x, A const* dphi, A* dx) = nullptr;

  template <class Feature>
  static own_feature of(Feature const& feature) {
    if constexpr (std::is_same_v<Feature, built_in_feature>)
      return (void)feature, own_feature{};
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

// Numbers of a row of each matrix, in whole blocks.
struct linear_widths {
  index_t channels, values, features, w;

  explicit linear_widths(linear_attention_shape const& s)
      : channels(padded_columns(s.channels)),
        values(padded_columns(s.values)),
        features(padded_columns(s.feature.count)),
        w(padded_columns(s.feature.rows_of_w)) {}
};

SLICESORT_DETAIL_END
