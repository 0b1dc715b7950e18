// SPDX-License-Identifier: Apache-2.0
// Parameters of pointwise_attention. For every sample, head and query i, over the keys j that the
// mask and the lengths admit:
//   s_ij = scale * <q_i, k_j> + bias_ij,  y_i = sum_j f(s_ij) v_j
// and backward:
//   ds_ij = f'(s_ij) <dy_i, v_j>,  dbias = ds,  dv_j = sum_i f(s_ij) dy_i,
//   dq_i = scale * sum_j ds_ij k_j,  dk_j = scale * sum_i ds_ij q_i
// all in the accumulator's type, rounded once. A score of -infinity has weight and gradient 0.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/error_function.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/score_function.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

template <class A>
SLICESORT_HD_INLINE bool is_minus_infinity(A score) {
  return bit_cast<bits_t<A>>(score) == bit_cast<bits_t<A>>(minus_infinity<A>());
}

// Function with its constants in type A, for kernels: normal_distribution, or the policy itself.
template <class A, class Function>
SLICESORT_HD auto prepare_score_function(Function const& function) {
  if constexpr (std::is_same_v<Function, score_function::laplace>)
    return normal_distribution<A>(function.mean, function.deviation);
  else
    return function;
}
// Weight of a score, and its derivative; `function` is prepared.
template <class Function, class A>
SLICESORT_HD_INLINE A score_weight(Function const& function, A score) {
  return is_minus_infinity(score) ? A(0) : static_cast<A>(function.value(score));
}
template <class Function, class A>
SLICESORT_HD_INLINE A score_slope(Function const& function, A score) {
  return is_minus_infinity(score) ? A(0) : static_cast<A>(function.slope(score));
}

template <class Mask, class Function, class T>
struct pointwise_attention_forward {
  using element = T;
  static constexpr char const* name = "pointwise_attention.forward";
  Mask mask;
  Function function;
  double scale = 0;
  bool per_key = false;  // true if the scale is 1 / (number of valid keys)
  attention_inputs<T> in{};
  attention_lengths lengths{};
  tensor4<T> y{};

  attention_shape shape() const { return attention_shape(in); }
};

template <class Mask, class Function, class T>
struct pointwise_attention_backward {
  using element = T;
  static constexpr char const* name = "pointwise_attention.backward";
  Mask mask;
  Function function;
  double scale = 0;
  bool per_key = false;  // true if the scale is 1 / (number of valid keys)
  attention_inputs<T> in{};
  attention_lengths lengths{};
  tensor4<T const> dy{};
  attention_gradients<T> grads{};
  grad_mode mode = grad_mode::overwrite;

  attention_shape shape() const { return {in.q.extents(), in.v.extents(), grads.dbias.extents()}; }
};

template <class Mask, class Function = score_function::laplace>
struct pointwise_attention_op {
  using shape = attention_shape;
  template <class T>
  using forward = pointwise_attention_forward<Mask, Function, T>;
  template <class T>
  using backward = pointwise_attention_backward<Mask, Function, T>;
};

template <class Function, class = void>
inline constexpr bool has_value_and_slope = std::is_same_v<Function, score_function::laplace>;
template <class Function>
inline constexpr bool has_value_and_slope<
    Function, std::void_t<decltype(std::declval<Function const&>().value(1.0F)),
                          decltype(std::declval<Function const&>().slope(1.0F))>> = true;
template <class Function>
using is_score_function = std::bool_constant<has_value_and_slope<Function>>;
// True if `value` and `slope` have the precision of a score of type A.
template <class Function, class A>
constexpr bool has_precision_of() {
  if constexpr (std::is_same_v<Function, score_function::laplace>) {
    return true;
  } else {
    using value = std::decay_t<decltype(std::declval<Function const&>().value(A(1)))>;
    using slope = std::decay_t<decltype(std::declval<Function const&>().slope(A(1)))>;
    return std::is_floating_point_v<value> && std::is_floating_point_v<slope> &&
           sizeof(value) >= sizeof(A) && sizeof(slope) >= sizeof(A);
  }
}
template <class Function>
constexpr bool has_valid_score_types() {
  if constexpr (is_score_function<Function>::value)
    return has_precision_of<Function, float>() && has_precision_of<Function, double>();
  else
    return false;
}

// Constructor argument: a factor, or `per_key`.
struct score_scale {
  double factor = 0;
  bool is_given = false, is_per_key = false;

  constexpr score_scale() = default;
  constexpr score_scale(double value) : factor(value), is_given(true) {}
  constexpr score_scale(per_key) : is_per_key(true) {}
};

SLICESORT_DETAIL_END
