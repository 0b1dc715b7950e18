// SPDX-License-Identifier: Apache-2.0
// Parameters of softmax_attention. For every sample, head and query i, over the keys j that the
// mask and the lengths admit:
//   s_j = scale * <q_i, k_j> + bias_ij,  m = max s_j,
//   l = sum exp(s_j - m),  p_j = exp(s_j - m) / l,
//   y_i = sum p_j v_j;  0 without keys, or if every s_j is -infinity
// and backward, with delta_i = <dy_i, y_i> (FlashAttention: D = rowsum(dO * O)):
//   dv_j = sum_i p_ij dy_i,  ds_ij = p_ij (<dy_i, v_j> - delta_i),  dbias = ds,
//   dq_i = scale * sum_j ds_ij k_j,  dk_j = scale * sum_i ds_ij q_i
// all in the accumulator's type, rounded once. With dropout (dropout.hpp), p_ij in y and dv, and
// <dy_i, v_j>, are 0 if the weight is dropped, else divided by 1 - rate.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// `State` is the element type of the saved state. streaming saves m and l of each query in the
// accumulator type, [batch, heads, queries, 2] (-infinity and 0 without keys). It does not save m +
// log l, because a large m would round l away. materialized saves p in T, [batch, heads, queries,
// keys].
template <class Mask, class T, class State>
struct attention_forward {
  using element = T;
  static constexpr char const* name = "softmax_attention.forward";
  Mask mask;
  double scale = 0;
  gemm_callback gemm{};
  products multiply = products::exact;  // read on the host only
  attention_inputs<T> in{};
  attention_lengths lengths{};
  dropout drop{};
  tensor4<T> y{};
  tensor4<State> state{};
  bool saving = false;  // true if the state is saved

  attention_shape shape() const { return attention_shape(in); }
};

template <class Mask, class T, class State>
struct attention_backward {
  using element = T;
  static constexpr char const* name = "softmax_attention.backward";
  Mask mask;
  double scale = 0;
  gemm_callback gemm{};
  products multiply = products::exact;  // read on the host only
  attention_inputs<T> in{};
  attention_lengths lengths{};
  dropout drop{};
  tensor4<T const> dy{}, y{};
  tensor4<State const> state{};
  attention_gradients<T> grads{};
  grad_mode mode = grad_mode::overwrite;

  attention_shape shape() const { return {in.q.extents(), in.v.extents(), grads.dbias.extents()}; }
};

// Backends see two operators, one per algorithm, because the saved states differ.
template <class Mask>
struct streaming_attention_op {
  using shape = attention_shape;
  template <class T>
  using forward = attention_forward<Mask, T, accumulator_t<T>>;
  template <class T>
  using backward = attention_backward<Mask, T, accumulator_t<T>>;
};
template <class Mask>
struct materialized_attention_op {
  using shape = attention_shape;
  template <class T>
  using forward = attention_forward<Mask, T, T>;
  template <class T>
  using backward = attention_backward<Mask, T, T>;
};

template <class>
struct is_algorithm : std::false_type {};
template <>
struct is_algorithm<streaming> : std::true_type {};
template <class Gemm>
struct is_algorithm<materialized<Gemm>> : std::true_type {};

// Properties of an algorithm.
template <class Algorithm>
struct attention_traits {
  static_assert(std::is_same_v<Algorithm, streaming>,
                "slicesort: the algorithm must be streaming or materialized<Gemm>.");
  template <class Mask>
  using op = streaming_attention_op<Mask>;
  template <class T>
  using state = accumulator_t<T>;
  static constexpr bool saves_weights = false;
  static constexpr bool runs_on(bool) { return true; }
  static constexpr gemm_callback gemm(Algorithm const&) { return {}; }
  static constexpr products multiply(Algorithm const& algorithm) { return algorithm.kind; }
};
template <class Gemm>
struct attention_traits<materialized<Gemm>> {
  template <class Mask>
  using op = materialized_attention_op<Mask>;
  template <class T>
  using state = T;
  static constexpr bool saves_weights = true;
  static constexpr bool runs_on(bool host_memory) { return gemm_runs_on<Gemm>(host_memory); }
  static constexpr products multiply(materialized<Gemm> const&) { return products::exact; }
  static constexpr gemm_callback gemm(materialized<Gemm> const& algorithm) {
    return callback_of(algorithm.gemm);
  }
};

SLICESORT_DETAIL_END
