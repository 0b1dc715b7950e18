// SPDX-License-Identifier: Apache-2.0
// The policies of linear_attention as values, so backends are compiled once for all built-in
// features, divisors and directions. Only a user-defined feature map remains a type.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/direction.hpp>
#include <slicesort/policies/divisor.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <optional>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

enum class feature_kind : int {
  elu_plus_one,
  relu,
  cosine_reweighted,
  random_exp,
  random_relu,
  random_fourier,
  custom
};

// True if the features are functions of the products with the rows of w.
SLICESORT_HD constexpr bool is_random(feature_kind kind) {
  return kind == feature_kind::random_exp || kind == feature_kind::random_relu ||
         kind == feature_kind::random_fourier;
}

// Feature map for rows with `channels` elements.
struct feature_config {
  feature_kind kind = feature_kind::elu_plus_one;
  index_t channels = 0;
  index_t w_rows = 0;  // 0 without w
  index_t count = 0;   // number of features
  double eps = 0;      // random_fourier: floor of the norm; others: added to the features
  double scale = 1;    // random_exp: w_rows^(-1/2)
  double x_scale = 1;  // z = x_scale * x

  // True if each feature is a function of one element.
  SLICESORT_HD constexpr bool is_elementwise() const {
    return kind == feature_kind::elu_plus_one || kind == feature_kind::relu;
  }
  // True if the exponents of keys are relative to a maximum, in causal calls a running maximum.
  SLICESORT_HD constexpr bool has_maximum() const {
    return kind == feature_kind::random_exp && w_rows > 0;
  }
};

// Type that stands for all built-in feature maps; feature_config describes them.
struct built_in_feature {};

template <class Feature>
inline constexpr feature_kind kind_of_feature = feature_kind::custom;
template <>
inline constexpr feature_kind kind_of_feature<feature::elu_plus_one> = feature_kind::elu_plus_one;
template <>
inline constexpr feature_kind kind_of_feature<feature::relu> = feature_kind::relu;
template <>
inline constexpr feature_kind kind_of_feature<feature::cosine_reweighted> =
    feature_kind::cosine_reweighted;
template <>
inline constexpr feature_kind kind_of_feature<feature::random_exp> = feature_kind::random_exp;
template <>
inline constexpr feature_kind kind_of_feature<feature::random_relu> = feature_kind::random_relu;
template <>
inline constexpr feature_kind kind_of_feature<feature::random_fourier> =
    feature_kind::random_fourier;

template <class Feature>
inline constexpr bool is_built_in = kind_of_feature<Feature> != feature_kind::custom;
template <class Feature>
using compiled_feature = std::conditional_t<is_built_in<Feature>, built_in_feature, Feature>;

template <class Feature>
constexpr compiled_feature<Feature> erase_built_in(Feature const& feature) {
  if constexpr (is_built_in<Feature>)
    return (void)feature, built_in_feature{};
  else
    return feature;
}

template <class Feature, class A, class = void>
inline constexpr bool has_backward = false;
template <class Feature, class A>
inline constexpr bool has_backward<
    Feature, A,
    std::void_t<decltype(std::declval<Feature const&>().backward(
        feature_row{}, std::declval<A const*>(), std::declval<A const*>(), std::declval<A*>()))>> =
    true;
// Calls `backward` of a user-defined feature map, or its deprecated name `pull`.
template <class Feature, class A>
SLICESORT_HD void custom_feature_backward(Feature const& feature, feature_row row, A const* x,
                                          A const* dphi, A* dx) {
  if constexpr (has_backward<Feature, A>)
    feature.backward(row, x, dphi, dx);
  else
    feature.pull(row, x, dphi, dx);
}

// n^power, or 1 if n is 0.
inline double power_or_one(index_t n, double power) {
  return n > 0 ? std::pow(static_cast<double>(n), power) : 1.0;
}

template <class Feature>
feature_config make_feature_config(Feature const& feature, index_t channels, index_t w_rows) {
  feature_config config;
  config.kind = kind_of_feature<Feature>;
  config.channels = channels;
  config.w_rows = is_random(config.kind) ? w_rows : 0;
  config.count = channels;
  if constexpr (std::is_same_v<Feature, feature::relu>) {
    config.eps = feature.eps;
  } else if constexpr (std::is_same_v<Feature, feature::cosine_reweighted>) {
    config.count = product(2, channels);
  } else if constexpr (std::is_same_v<Feature, feature::random_exp>) {
    config.count = w_rows;
    config.eps = feature.eps;
    config.scale = power_or_one(w_rows, -0.5);
    config.x_scale = power_or_one(channels, -0.25);
  } else if constexpr (std::is_same_v<Feature, feature::random_relu>) {
    config.count = w_rows;
    config.eps = feature.eps;
    config.scale = feature.scale.value_or(power_or_one(channels, -0.25));
  } else if constexpr (std::is_same_v<Feature, feature::random_fourier>) {
    config.count = product(2, w_rows);
    config.eps = feature.floor;
    config.scale = feature.scale.value_or(power_or_one(w_rows, -0.5));
  } else if constexpr (!is_built_in<Feature>) {
    config.count = feature.features(channels);
  }
  return config;
}

enum class divisor_kind : int { sum_plus, at_least, none };

struct divisor_config {
  divisor_kind kind = divisor_kind::sum_plus;
  double eps = 0;

  static constexpr divisor_config make(divisor::sum_plus d) {
    return {divisor_kind::sum_plus, d.eps};
  }
  static constexpr divisor_config make(divisor::at_least d) {
    return {divisor_kind::at_least, d.eps};
  }
  static constexpr divisor_config make(divisor::none) { return {divisor_kind::none, 0}; }
};

// Inverse 1 / D(d), and slope D'(d) / D(d).
template <class A>
struct divisor_terms {
  A inverse, slope;
};
// Evaluates the divisor at d, the sum of a query's weights.
template <class A, class Arithmetic>
SLICESORT_HD_INLINE divisor_terms<A> evaluate_divisor(Arithmetic& ops, divisor_config config, A d) {
  if (config.kind == divisor_kind::none) return {A(1), A(0)};
  A const eps = static_cast<A>(config.eps);
  bool const is_sum = config.kind == divisor_kind::sum_plus, is_above_eps = d > eps;
  A const divisor = is_sum ? d + eps : d < eps ? eps : d;
  A const smallest = min_normal<A>();  // reciprocals of smaller values may overflow
  A const inverse = divisor < smallest && divisor > -smallest ? A(0) : ops.divide(A(1), divisor);
  return {inverse, is_sum || is_above_eps ? inverse : A(0)};
}

template <class Direction>
inline constexpr bool is_causal = std::is_same_v<Direction, direction::causal>;

// Recognizes policies by their types. Any other type is a feature.
template <class Policy, class... Kinds>
using is_one_of = std::bool_constant<(std::is_same_v<Policy, Kinds> || ...)>;
template <class Policy>
using is_direction = is_one_of<Policy, direction::noncausal, direction::causal>;
template <class Policy>
using is_divisor = is_one_of<Policy, divisor::sum_plus, divisor::at_least, divisor::none>;
template <class Policy>
using is_feature = std::bool_constant<!is_direction<Policy>::value && !is_divisor<Policy>::value &&
                                      !std::is_same_v<Policy, products>>;

SLICESORT_DETAIL_END
