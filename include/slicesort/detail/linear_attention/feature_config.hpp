// SPDX-License-Identifier: Apache-2.0
// The policies of linear_attention as numbers, so that backends are compiled once for all features
// of the library, all divisors and both directions. A feature map of the user's own remains a type.
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
  own
};

// Whether features are formed of products with the rows of w.
SLICESORT_HD constexpr bool is_random(feature_kind kind) {
  return kind == feature_kind::random_exp || kind == feature_kind::random_relu ||
         kind == feature_kind::random_fourier;
}

// A feature map for rows of some channels.
struct feature_config {
  feature_kind kind = feature_kind::elu_plus_one;
  index_t channels = 0;
  index_t rows_of_w = 0;  // r; 0 where there is no w
  index_t count = 0;      // of features
  double eps = 0;         // random_fourier: floor
  double scale = 1;       // of random_exp: r^(-1/2)
  double scale_of_x = 1;  // z = scale_of_x * x

  // Whether a feature needs nothing but its element.
  SLICESORT_HD constexpr bool of_elements() const {
    return kind == feature_kind::elu_plus_one || kind == feature_kind::relu;
  }
  // Whether features of keys are relative to a maximum, which in a causal call grows from key to
  // key.
  SLICESORT_HD constexpr bool has_maximum() const {
    return kind == feature_kind::random_exp && rows_of_w > 0;
  }
};

// The library's own features, in place of a type.
struct built_in_feature {};

template <class Feature>
inline constexpr feature_kind kind_of_feature = feature_kind::own;
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
inline constexpr bool is_built_in = kind_of_feature<Feature> != feature_kind::own;
template <class Feature>
using compiled_feature = std::conditional_t<is_built_in<Feature>, built_in_feature, Feature>;

template <class Feature>
constexpr compiled_feature<Feature> compiled(Feature const& feature) {
  if constexpr (is_built_in<Feature>)
    return (void)feature, built_in_feature{};
  else
    return feature;
}

inline double number_to_power(index_t n, double power) {
  return n > 0 ? std::pow(static_cast<double>(n), power) : 1.0;
}

template <class Feature>
feature_config config_of(Feature const& feature, index_t channels, index_t rows_of_w) {
  feature_config r;
  r.kind = kind_of_feature<Feature>;
  r.channels = channels;
  r.rows_of_w = is_random(r.kind) ? rows_of_w : 0;
  r.count = channels;
  if constexpr (std::is_same_v<Feature, feature::relu>) {
    r.eps = feature.eps;
  } else if constexpr (std::is_same_v<Feature, feature::cosine_reweighted>) {
    r.count = product(2, channels);
  } else if constexpr (std::is_same_v<Feature, feature::random_exp>) {
    r.count = rows_of_w;
    r.eps = feature.eps;
    r.scale = number_to_power(rows_of_w, -0.5);
    r.scale_of_x = number_to_power(channels, -0.25);
  } else if constexpr (std::is_same_v<Feature, feature::random_relu>) {
    r.count = rows_of_w;
    r.eps = feature.eps;
    r.scale = feature.scale.value_or(number_to_power(channels, -0.25));
  } else if constexpr (std::is_same_v<Feature, feature::random_fourier>) {
    r.count = product(2, rows_of_w);
    r.eps = feature.floor;
    r.scale = feature.scale.value_or(number_to_power(rows_of_w, -0.5));
  } else if constexpr (!is_built_in<Feature>) {
    r.count = feature.features(channels);
  }
  return r;
}

enum class divisor_kind : int { sum_plus, at_least, none };

struct divisor_config {
  divisor_kind kind = divisor_kind::sum_plus;
  double eps = 0;

  static constexpr divisor_config of(divisor::sum_plus d) {
    return {divisor_kind::sum_plus, d.eps};
  }
  static constexpr divisor_config of(divisor::at_least d) {
    return {divisor_kind::at_least, d.eps};
  }
  static constexpr divisor_config of(divisor::none) { return {divisor_kind::none, 0}; }
};

// What a query's sums are multiplied by, and that times the slope of its divisor.
template <class A>
struct divided {
  A inverse, slope;
};
// Of the sum d of a query's weights.
template <class A, class Arithmetic>
SLICESORT_HD_INLINE divided<A> divide_by(Arithmetic& ops, divisor_config config, A d) {
  if (config.kind == divisor_kind::none) return {A(1), A(0)};
  A const eps = static_cast<A>(config.eps);
  bool const sums = config.kind == divisor_kind::sum_plus, above = d > eps;
  A const by = sums ? d + eps : d < eps ? eps : d;
  A const least = least_normal<A>();  // a smaller one may have no reciprocal
  A const inverse = by < least && by > -least ? A(0) : ops.divide(A(1), by);
  return {inverse, sums || above ? inverse : A(0)};
}

template <class Direction>
inline constexpr bool is_causal = std::is_same_v<Direction, direction::causal>;

// The policies of linear attention, each known by its type; a feature is what is none of the
// others.
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
