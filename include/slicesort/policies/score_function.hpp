// SPDX-License-Identifier: Apache-2.0
/// Functions and scales of the scores of `pointwise_attention`, semantic policies that replace the
/// softmax.
///
/// A user-defined function is any trivially copyable type with
/// - `A value(A score) const`: the weight of a score;
/// - `A slope(A score) const`: its derivative;
///
/// for A = float, the accumulator of all types except double, and for A = double: two overloads
/// each, or templates. Results for double must not be narrower. It may add `char const*
/// validate(index_t channels) const`, which returns null or the error of its parameters. For
/// `exec::cuda` all but `validate` must be `__host__ __device__`. Masked pairs and scores of
/// -infinity have weights and gradients of 0, whatever the function returns.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_TYPES_BEGIN

namespace score_function {

/// `(1 + erf((s - mean) / (deviation * sqrt(2)))) / 2`, the distribution function of a normal
/// distribution. With the defaults its value and slope at `sqrt(1/2)` are those of `squared_relu`
/// (MEGA, Ma et al., 2022, eq. 16).
///
/// - **Errors** `invalid_argument` unless `mean` is in -1e15..1e15, and `deviation` in 1e-15..1e15.
struct laplace {
  double mean = 0.707107, deviation = 0.282095;  ///< up to 1e15; deviation at least 1e-15

  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    if (!(-1e15 <= mean && mean <= 1e15)) return "laplace: mean must be in -1e15..1e15";
    if (!(1e-15 <= deviation && deviation <= 1e15))
      return "laplace: deviation must be in 1e-15..1e15";
    return nullptr;
  }
};

/// `max(s, 0)^2` (Primer, So et al., 2021; MEGA).
struct squared_relu {
  template <class A>
  SLICESORT_HD_ABI_TAG A value(A score) const {
    A const positive = score < A(0) ? A(0) : score;
    return positive * positive;
  }
  template <class A>
  SLICESORT_HD_ABI_TAG A slope(A score) const {
    return A(2) * (score < A(0) ? A(0) : score);
  }
};

}  // namespace score_function

/// Scale of the scores: 1 / the number of valid keys of each sample (MEGA).
struct per_key {};

SLICESORT_TYPES_END
