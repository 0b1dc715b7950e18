// SPDX-License-Identifier: Apache-2.0
// Host backend of pointwise_attention: the tiles of streaming softmax attention, whose weights are
// a function of each score.
#pragma once

#include <slicesort/detail/attention/host/backward.hpp>
#include <slicesort/detail/attention/host/forward.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/pointwise_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/policies/score_function.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Erases the type of a score function, for scores of type A.
template <class A, class Function>
score_weights erase_score_function(Function const& function) {
  score_weights weights;
  if constexpr (std::is_same_v<Function, score_function::laplace>) {
    weights.kind = score_weights::function_kind::laplace;
    weights.mean = function.mean, weights.deviation = function.deviation;
  } else if constexpr (std::is_same_v<Function, score_function::squared_relu>) {
    weights.kind = score_weights::function_kind::squared_relu;
  } else {
    weights.kind = score_weights::function_kind::custom;
    weights.function = &function;
    weights.apply = [](void const* erased, void* scores, void* products, index_t count) {
      auto const& f = *static_cast<Function const*>(erased);
      auto* const s = static_cast<A*>(scores);
      auto* const p = static_cast<A*>(products);
      for (index_t i = 0; i < count; ++i) {
        A const score = s[i];
        s[i] = score_weight(f, score);
        if (p != nullptr) p[i] = is_minus_infinity(score) ? A(0) : score_slope(f, score) * p[i];
      }
    };
  }
  return weights;
}

template <class Params>
attention_config pointwise_config(Params const& params) {
  attention_config config{};
  config.mask = attention_mask::make(params.mask);
  config.weights = erase_score_function<accumulator_t<typename Params::element>>(params.function);
  config.scale = params.scale;
  config.scale_per_key = params.per_key;
  config.lengths = params.lengths;
  return config;
}

template <class Mask, class Function>
struct host_implementation<pointwise_attention_op<Mask, Function>> {
  template <class T>
  static void plan(host_exec const& exec, attention_shape const& shape, arena& memory) {
    streaming_plan<T>(exec, shape, is_sparse<Mask>, memory);
  }
  template <class Params>
  static void forward(host_exec const& exec, Params const& params, workspace workspace_memory);
  template <class Params>
  static void backward(host_exec const& exec, Params const& params, workspace workspace_memory);
};

template <class Mask, class Function>
template <class Params>
void host_implementation<pointwise_attention_op<Mask, Function>>::forward(
    host_exec const& exec, Params const& params, workspace workspace_memory) {
  streaming_forward(exec, pointwise_config(params), params.in, params.y, {}, workspace_memory);
}
template <class Mask, class Function>
template <class Params>
void host_implementation<pointwise_attention_op<Mask, Function>>::backward(
    host_exec const& exec, Params const& params, workspace workspace_memory) {
  streaming_backward(exec, pointwise_config(params), params.in, {},
                     {params.dy, {}, params.grads, params.mode}, workspace_memory);
}

SLICESORT_DETAIL_END
