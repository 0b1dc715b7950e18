// SPDX-License-Identifier: Apache-2.0
// pointwise_attention with element type, tensor rank and policies chosen at run time.
#pragma once

#include "attention.hpp"
#include "policies/policy.hpp"

#include <slicesort/pointwise_attention.hpp>

#include <optional>
#include <string>

namespace bindings {

/// Arguments of pointwise attention besides its tensors. `function`: `laplace{mean, deviation}` or
/// `squared_relu`. With `per_key`, `scale` must be missing.
struct pointwise_arguments {
  std::string mask, function;
  std::optional<double> scale;
  bool per_key;
  optional_array lengths, query_lengths;
  optional_array allowed{}, segments{};  // booleans per pair; offsets of packed samples

  /// Calls f(op) with the operator for keys of shape `[batch, heads, keys, channels]`.
  template <class F>
  void with_op(array const& k, F const& f) const {
    policy const choice("function", function,
                        {{"laplace", 0, 2, "laplace{mean, deviation}"}, {"squared_relu"}});
    if (per_key && scale) throw_invalid("scale must be a number or per_key, not both");
    named_mask const named = mask_of(mask, k, allowed, segments);
    auto const call = [&](auto score_function) {
      using op = ss::pointwise_attention<named_mask, decltype(score_function)>;
      if (per_key)
        f(op(named, score_function, ss::per_key{}));
      else
        f(scale ? op(named, score_function, *scale) : op(named, score_function));
    };
    ss::score_function::laplace const defaults;
    if (choice.alternative() == 0)
      call(ss::score_function::laplace{choice.real(0, defaults.mean),
                                       choice.real(1, defaults.deviation)});
    else
      call(ss::score_function::squared_relu{});
  }
  auto valid_lengths() const { return ss::lengths(lengths_of(lengths), lengths_of(query_lengths)); }
};

template <class Call>
void pointwise_attention(Call& call, pointwise_arguments const& arguments,
                         attention_arrays const& arrays, array const& y) {
  arguments.with_op(arrays.k, [&](auto const& op) {
    with_element(arrays.q, [&](auto element) {
      using T = decltype(element);
      op.forward(call.exec, detail::inputs<T>(arrays), view4<T>(y, detail::output_axes),
                 call.memory, {arguments.valid_lengths()});
    });
  });
}
/// Computes `grads`. Skips the bias gradient if its array is missing.
template <class Call>
void pointwise_attention_backward(Call& call, pointwise_arguments const& arguments, array const& dy,
                                  attention_arrays const& arrays, attention_arrays const& grads) {
  arguments.with_op(arrays.k, [&](auto const& op) {
    with_element(dy, [&](auto element) {
      using T = decltype(element);
      op.backward(call.exec, view4<T const>(dy, detail::output_axes), detail::inputs<T>(arrays),
                  detail::gradients<T>(grads), call.memory, {arguments.valid_lengths()});
    });
  });
}

}  // namespace bindings
