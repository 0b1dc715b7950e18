// SPDX-License-Identifier: Apache-2.0
// linear_attention with element type, tensor rank and policies chosen at run time.
#pragma once

#include "policies/policy.hpp"

#include <slicesort/linear_attention.hpp>

#include <optional>
#include <string>

namespace bindings {

/// Arguments of linear attention besides its tensors. `direction` is noncausal or causal; "both" is
/// a deprecated alias of noncausal.
struct linear_attention_arguments {
  std::string feature, divisor, direction;
  optional_array lengths, query_lengths;

  auto valid_lengths() const { return ss::lengths(lengths_of(lengths), lengths_of(query_lengths)); }
};

/// Inputs or gradients of linear attention; only random feature maps have w.
struct linear_attention_arrays {
  array q, k, v;
  optional_array w;
};

namespace detail {

inline constexpr char const *w_axes = "[heads, features, channels]",
                            *linear_state_axes = "[batch, heads, elements]";

template <class F>
void with_feature(std::string const& text, F const& f) {
  policy const parsed("feature", text,
                      {{"elu_plus_one"},
                       {"relu", 0, 1, "relu{eps}"},
                       {"cosine_reweighted"},
                       {"random_exp", 0, 1, "random_exp{eps}"},
                       {"random_relu", 0, 2, "random_relu{eps, scale}"},
                       {"random_fourier", 0, 2, "random_fourier{floor, scale}"}});
  auto const scale = parsed.size() > 1 ? std::optional<double>(parsed.real(1, 0)) : std::nullopt;
  switch (parsed.alternative()) {
    case 0:
      return f(ss::feature::elu_plus_one{});
    case 1:
      return f(ss::feature::relu{parsed.real(0, 0)});
    case 2:
      return f(ss::feature::cosine_reweighted{});
    case 3:
      return f(ss::feature::random_exp{parsed.real(0, 1e-6)});
    case 4:
      return f(ss::feature::random_relu{parsed.real(0, 1e-3), scale});
    default:
      return f(ss::feature::random_fourier{parsed.real(0, 1e-3), scale});
  }
}
template <class F>
void with_divisor(std::string const& text, F const& f) {
  policy const parsed(
      "divisor", text,
      {{"sum_plus", 0, 1, "sum_plus{eps}"}, {"at_least", 0, 1, "at_least{eps}"}, {"none"}});
  switch (parsed.alternative()) {
    case 0:
      return f(ss::divisor::sum_plus{parsed.real(0, 1e-6)});
    case 1:
      return f(ss::divisor::at_least{parsed.real(0, 1e-6)});
    default:
      return f(ss::divisor::none{});
  }
}
template <class F>
void with_linear_attention(linear_attention_arguments const& arguments, F const& f) {
  std::string const& direction_name = arguments.direction;
  policy const direction("direction", direction_name == "both" ? "noncausal" : direction_name,
                         {{"noncausal"}, {"causal"}});
  with_feature(arguments.feature, [&](auto feature) {
    with_divisor(arguments.divisor, [&](auto divisor) {
      if (direction.alternative() == 0)
        f(ss::linear_attention(feature, divisor, ss::direction::noncausal{}));
      else
        f(ss::linear_attention(feature, divisor, ss::direction::causal{}));
    });
  });
}

template <class T>
ss::linear_attention_inputs<T> inputs(linear_attention_arrays const& arrays) {
  return {view4<T const>(arrays.q), view4<T const>(arrays.k), view4<T const>(arrays.v),
          view3_or_none<T const>(arrays.w, w_axes)};
}

}  // namespace detail

template <class Call>
void linear_attention(Call& call, linear_attention_arguments const& arguments,
                      linear_attention_arrays const& arrays, array const& y) {
  detail::with_linear_attention(arguments, [&](auto const& op) {
    with_element(arrays.q, [&](auto element) {
      using T = decltype(element);
      auto const inputs = detail::inputs<T>(arrays);
      op.forward(call.exec, inputs, view4<T>(y), call.memory, arguments.valid_lengths());
    });
  });
}
/// Computes `grads`. Skips the gradient of w if its array is missing.
template <class Call>
void linear_attention_backward(Call& call, linear_attention_arguments const& arguments,
                               array const& dy, linear_attention_arrays const& arrays,
                               linear_attention_arrays const& grads) {
  detail::with_linear_attention(arguments, [&](auto const& op) {
    with_element(dy, [&](auto element) {
      using T = decltype(element);
      auto const inputs = detail::inputs<T>(arrays);
      ss::linear_attention_gradients<T> const grad_views{view4<T>(grads.q), view4<T>(grads.k),
                                                         view4<T>(grads.v),
                                                         view3_or_none<T>(grads.w, detail::w_axes)};
      op.backward(call.exec, view4<T const>(dy), inputs, grad_views, call.memory,
                  arguments.valid_lengths());
    });
  });
}

/// Number of elements of a head's state, for tensors of these shapes.
inline index_t linear_attention_state_elements(linear_attention_arguments const& arguments,
                                               array const& q, array const& v,
                                               optional_array const& w) {
  auto const shape = [](array const& tensor, char const* axes) {
    detail::require_rank(tensor, 4, axes);
    auto const& e = tensor.extents;
    return ss::extents4{e[0], e[1], e[2], e[3]};
  };
  auto const q_shape = shape(q, "[batch, heads, queries, channels]"),
             v_shape = shape(v, "[batch, heads, keys, values]");
  ss::extents3 const w_shape =
      w ? ss::extents3{w->extents[0], w->extents[1], w->extents[2]} : ss::extents3{};
  index_t elements = 0;
  detail::with_linear_attention(arguments, [&](auto const& op) {
    elements = op.state_extents(q_shape, v_shape, w_shape).channels;
  });
  return elements;
}

/// States `[batch, heads, elements]` of causal linear attention.
struct linear_attention_state_arrays {
  array initial, last;
};
template <class Call>
void linear_attention_with_state(Call& call, linear_attention_arguments const& arguments,
                                 linear_attention_arrays const& arrays, array const& y,
                                 linear_attention_state_arrays const& states) {
  detail::with_linear_attention(arguments, [&](auto const& op) {
    with_element(arrays.q, [&](auto element) {
      using T = decltype(element);
      using A = typename ss::dtype_traits<T>::accumulator;
      op.forward(call.exec, detail::inputs<T>(arrays), view4<T>(y), call.memory,
                 arguments.valid_lengths(),
                 {state_view<A const>(states.initial, detail::linear_state_axes),
                  state_view<A>(states.last, detail::linear_state_axes)});
    });
  });
}
struct linear_attention_state_gradient_arrays {
  array initial, dlast, dinitial;
};
template <class Call>
void linear_attention_with_state_backward(Call& call, linear_attention_arguments const& arguments,
                                          array const& dy, linear_attention_arrays const& arrays,
                                          linear_attention_arrays const& grads,
                                          linear_attention_state_gradient_arrays const& states) {
  detail::with_linear_attention(arguments, [&](auto const& op) {
    with_element(dy, [&](auto element) {
      using T = decltype(element);
      using A = typename ss::dtype_traits<T>::accumulator;
      ss::linear_attention_gradients<T> const grad_views{view4<T>(grads.q), view4<T>(grads.k),
                                                         view4<T>(grads.v),
                                                         view3_or_none<T>(grads.w, detail::w_axes)};
      op.backward(call.exec, view4<T const>(dy), detail::inputs<T>(arrays), grad_views, call.memory,
                  arguments.valid_lengths(),
                  {state_view<A const>(states.initial, detail::linear_state_axes),
                   state_view<A const>(states.dlast, detail::linear_state_axes),
                   state_view<A>(states.dinitial, detail::linear_state_axes)});
    });
  });
}

}  // namespace bindings
