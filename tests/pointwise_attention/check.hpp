// SPDX-License-Identifier: Apache-2.0
// Runs problems of pointwise attention, and compares them with the oracle of attention in long
// double. Bounds of the functions, for a score s with an error of d, where u is half a unit in the
// last place:
// - laplace: z = s factor + offset has an error of e = 4 u (|s| factor + |offset|), where both
//   constants are rounded. The slope of (1 + erf(z)) / 2 by z is at most 1 / sqrt(pi), the one by s
//   at most h = factor / sqrt(pi). So the value has an error of h d + e / sqrt(pi) + 3 u, since erf
//   has 3 u. The density h exp(-z^2) changes by at most 0.86 h per unit of z; exp has an error of
//   4 u, z^2 exp(-z^2) < 0.37, and underflow is below the smallest number.
// - squared_relu: 2 d |s| + d^2, and u for the square; the slope 2 s is exact.
// - custom_score_function: (1 + |s| / 2 + d / 4) d and 4 u of the terms; the slope d / 2 and 3 u.
#pragma once

#include "operators/compiled_once.hpp"
#include "operators/custom_score_function.hpp"
#include "softmax_attention/check.hpp"
#include "softmax_attention/oracle.hpp"
#include "softmax_attention/problem.hpp"
#include "support/buffers.hpp"

#include <slicesort/pointwise_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

struct laplace_oracle final : score_oracle {
  long double factor, offset, height;

  explicit laplace_oracle(ss::score_function::laplace f = {})
      : factor(1 / (std::sqrt(2.0L) * f.deviation)),
        offset(-f.mean * factor),
        height(factor / std::sqrt(pi)) {}

  bounded value(bounded s, long double u) const override {
    return {std::erfc(-z(s)) / 2, height * s.error + z_error(s, u) / std::sqrt(pi) + 3 * u};
  }
  bounded slope(bounded s, long double u) const override {
    long double const error = factor * s.error + z_error(s, u);
    return {height * std::exp(-z(s) * z(s)), height * (0.86L * error + 8 * u)};
  }

 private:
  static constexpr long double pi = 3.14159265358979323846L;
  long double z(bounded s) const { return factor * s.value + offset; }
  long double z_error(bounded s, long double u) const {
    return 4 * u * (std::fabs(factor) * (std::fabs(s.value) + s.error) + std::fabs(offset));
  }
};
struct squared_relu_oracle final : score_oracle {
  bounded value(bounded s, long double u) const override {
    long double const p = std::max(s.value, 0.0L), high = p + s.error;
    return {p * p, s.error * (2 * p + s.error) + u * high * high};
  }
  bounded slope(bounded s, long double) const override {
    return {2 * std::max(s.value, 0.0L), 2 * s.error};
  }
};
struct custom_oracle final : score_oracle {
  bounded value(bounded s, long double u) const override {
    long double const magnitude = std::fabs(s.value) + s.error;
    return {s.value * s.value / 4 + s.value + 0.5L,
            (1 + std::fabs(s.value) / 2 + s.error / 4) * s.error +
                4 * u * (magnitude * magnitude / 4 + magnitude + 0.5L)};
  }
  bounded slope(bounded s, long double u) const override {
    return {s.value / 2 + 1, s.error / 2 + 3 * u * ((std::fabs(s.value) + s.error) / 2 + 1)};
  }
};

// Calls f(function, oracle) for every score function that the tests compile for pattern_mask and T.
template <class T, class F>
void for_each_score_function(F const& f) {
  f(ss::score_function::laplace{}, laplace_oracle{});
  f(ss::score_function::laplace{-0.3, 1.7}, laplace_oracle{{-0.3, 1.7}});
  f(ss::score_function::squared_relu{}, squared_relu_oracle{});
  if constexpr (has_custom_functions<T>) f(custom_score_function{}, custom_oracle{});
}

template <class T>
using pointwise_results = attention_results<T, float>;  // without a state

// Runs forward and backward of `op`.
template <class Mask, class Function, class T, class Exec>
pointwise_results<T> run_operator(ss::pointwise_attention<Mask, Function> const& op,
                                  attention_problem<T> const& p, Exec const& exec,
                                  memory_layout layout = {}) {
  attention_tensors<T, float> tensors(p, {}, layout);
  extents4 const dbias = (p.requested & wants_dbias) != 0 ? p.dbias_shape() : extents4{};
  std::size_t const bytes = op.template workspace_bytes<T>(exec, p.size.q(), p.size.v(), dbias);
  guarded_workspace memory(bytes, p.backend_seed() % 64, 0x7f);
  pointwise_results<T> results;
  op.forward(exec, tensors.inputs(p), tensors.y.view(), memory.get(), p.options());
  results.y = tensors.y.contents();
  op.backward(exec, tensors.dy.view(), tensors.inputs(p), tensors.gradients(p.requested),
              memory.get(), p.backward_options());
  results.dq = tensors.dq.contents();
  results.dk = tensors.dk.contents();
  results.dv = tensors.dv.contents();
  results.dbias = tensors.dbias.contents();
  if (!same_bits(tensors.y.contents(), results.y)) results.wrong = "backward wrote to y";
  if (!tensors.padding_intact()) results.wrong = "wrote beside a tensor";
  if (!memory.red_zones_intact()) results.wrong = "workspace overrun";
  return results;
}
template <class Mask, class Function, class T>
ss::pointwise_attention<Mask, Function> make_pointwise(attention_problem<T> const& p,
                                                       Mask const& mask, Function const& function) {
  if (p.per_key) return ss::pointwise_attention<Mask, Function>(mask, function, ss::per_key{});
  if (p.scale) return ss::pointwise_attention<Mask, Function>(mask, function, *p.scale);
  return ss::pointwise_attention<Mask, Function>(mask, function);
}
// Runs the problem with its mask; laplace is also compiled for masks with ranges, and sparse ones,
// if they are for T.
template <class Function, class T>
pointwise_results<T> run_pointwise(attention_problem<T> const& p, Function const& function,
                                   any_exec const& exec, memory_layout layout = {}) {
  if constexpr (has_every_mask<T> && std::is_same_v<Function, ss::score_function::laplace>) {
    if (p.sparse) return run_operator(make_pointwise(p, *p.sparse, function), p, exec, layout);
    if (is_range(p.mask))
      return run_operator(make_pointwise(p, range_mask{p.mask.kind, p.mask.a, p.mask.b}, function),
                          p, exec, layout);
  }
  if (p.sparse) throw std::logic_error("not compiled for sparse masks");
  if constexpr (has_custom_functions<T> || !std::is_same_v<Function, custom_score_function>)
    return run_operator(make_pointwise(p, p.mask, function), p, exec, layout);
  else
    throw std::logic_error("custom_score_function is not compiled for this type");
}

// Returns a description of the first wrong result, or nothing.
template <class T>
std::string pointwise_error(solved_attention<T> const& solved, any_exec const& exec,
                            pointwise_results<T> const& actual,
                            attention_error_ratios* max_ratios = nullptr) {
  attention_error_ratios ratios;
  std::string const error = output_error(
      solved.problem, actual,
      solved.template expected<ss::streaming>(host_isa(exec).has_value(), false), ratios);
  if (max_ratios != nullptr) max_ratios->update_max(ratios);
  return error.empty() ? error : error + ": " + solved.problem.describe() + describe_exec(exec);
}

// Returns the problem with a function of each score in place of the softmax.
template <class T>
attention_problem<T> with_function(attention_problem<T> p, score_oracle const& function) {
  p.function = &function;
  p.dropout = {};
  return p;
}

// Runs the problem on the backends that for_each(seed, f) selects, with every score function.
// Returns the errors.
template <class T, class ForEach>
std::string pointwise_errors(attention_problem<T> const& p, ForEach const& for_each,
                             memory_layout layout = {},
                             attention_error_ratios* max_ratios = nullptr) {
  std::string errors;
  for_each_score_function<T>([&](auto const& function, auto const& oracle) {
    auto problem = with_function(p, oracle);
    if (!std::is_same_v<decltype(function), ss::score_function::laplace const&>)
      problem.sparse.reset();
    solved_attention<T> const solved(problem);
    for_each(problem.backend_seed(), [&](any_exec const& exec) {
      errors +=
          pointwise_error(solved, exec, run_pointwise(problem, function, exec, layout), max_ratios);
    });
  });
  return errors;
}

}  // namespace support

#define SLICESORT_TEST_RUN_POINTWISE(linkage, Function, T)               \
  linkage template support::pointwise_results<T> support::run_pointwise( \
      attention_problem<T> const&, Function const&, any_exec const&, memory_layout);
#define SLICESORT_TEST_HELPERS_OF_pointwise_attention(linkage, T)                   \
  SLICESORT_TEST_RUN_POINTWISE(linkage, slicesort::score_function::laplace, T)      \
  SLICESORT_TEST_RUN_POINTWISE(linkage, slicesort::score_function::squared_relu, T) \
  SLICESORT_TEST_RUN_POINTWISE(linkage, support::custom_score_function, T)
#if defined(SLICESORT_TEST_LINKS_HELPERS_OF_pointwise_attention)
SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HELPERS_OF_pointwise_attention)
#endif
