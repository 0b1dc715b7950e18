// SPDX-License-Identifier: Apache-2.0
// linear_attention with types, ranks and policies of run time.
#pragma once

#include "policy.hpp"

#include <slicesort/linear_attention.hpp>

#include <optional>
#include <string>

namespace bindings {

/// What a call of linear attention is given beside its tensors.
struct linear_attention_arguments {
  std::string feature, divisor, direction;
  optional_array lengths, query_lengths;

  auto valid() const { return ss::lengths(lengths_of(lengths), lengths_of(query_lengths)); }
};

/// Inputs of linear attention; w belongs to random features alone.
struct linear_attention_arrays {
  array q, k, v;
  optional_array w;
};

namespace detail {

inline constexpr char const* random_axes = "[heads, features, channels]";

template <class F>
void with_feature(std::string const& text, F const& f) {
  policy const p("feature", text,
                 {{"elu_plus_one"},
                  {"relu", 0, 1, "relu{eps}"},
                  {"cosine_reweighted"},
                  {"random_exp", 0, 1, "random_exp{eps}"},
                  {"random_relu", 0, 2, "random_relu{eps, scale}"},
                  {"random_fourier", 0, 2, "random_fourier{floor, scale}"}});
  auto const scale = p.size() > 1 ? std::optional<double>(p.real(1, 0)) : std::nullopt;
  switch (p.form()) {
    case 0:
      return f(ss::feature::elu_plus_one{});
    case 1:
      return f(ss::feature::relu{p.real(0, 0)});
    case 2:
      return f(ss::feature::cosine_reweighted{});
    case 3:
      return f(ss::feature::random_exp{p.real(0, 1e-6)});
    case 4:
      return f(ss::feature::random_relu{p.real(0, 1e-3), scale});
    default:
      return f(ss::feature::random_fourier{p.real(0, 1e-3), scale});
  }
}
template <class F>
void with_divisor(std::string const& text, F const& f) {
  policy const p(
      "divisor", text,
      {{"sum_plus", 0, 1, "sum_plus{eps}"}, {"at_least", 0, 1, "at_least{eps}"}, {"none"}});
  switch (p.form()) {
    case 0:
      return f(ss::divisor::sum_plus{p.real(0, 1e-6)});
    case 1:
      return f(ss::divisor::at_least{p.real(0, 1e-6)});
    default:
      return f(ss::divisor::none{});
  }
}
template <class F>
void with_linear_attention(linear_attention_arguments const& a, F const& f) {
  policy const direction("direction", a.direction, {{"both"}, {"causal"}});
  with_feature(a.feature, [&](auto feature) {
    with_divisor(a.divisor, [&](auto divisor) {
      if (direction.form() == 0)
        f(ss::linear_attention(feature, divisor, ss::direction::noncausal{}));
      else
        f(ss::linear_attention(feature, divisor, ss::direction::causal{}));
    });
  });
}

template <class T>
ss::linear_attention_inputs<T> inputs(linear_attention_arrays const& a) {
  return {view4<T const>(a.q), view4<T const>(a.k), view4<T const>(a.v),
          view3_or_none<T const>(a.w, random_axes)};
}

}  // namespace detail

template <class Call>
void linear_attention(Call& call, linear_attention_arguments const& arguments,
                      linear_attention_arrays const& a, array const& y) {
  detail::with_linear_attention(arguments, [&](auto const& op) {
    with_element(a.q, [&](auto zero) {
      using T = decltype(zero);
      auto const in = detail::inputs<T>(a);
      op.forward(call.exec, in, view4<T>(y), call.memory, arguments.valid());
    });
  });
}
/// Forms the gradients of `to`; w gets one where `to` has an array for it.
template <class Call>
void linear_attention_backward(Call& call, linear_attention_arguments const& arguments,
                               array const& dy, linear_attention_arrays const& a,
                               linear_attention_arrays const& to) {
  detail::with_linear_attention(arguments, [&](auto const& op) {
    with_element(dy, [&](auto zero) {
      using T = decltype(zero);
      auto const in = detail::inputs<T>(a);
      ss::linear_attention_gradients<T> const gradients{
          view4<T>(to.q), view4<T>(to.k), view4<T>(to.v),
          view3_or_none<T>(to.w, detail::random_axes)};
      op.backward(call.exec, view4<T const>(dy), in, gradients, call.memory, arguments.valid());
    });
  });
}

}  // namespace bindings
