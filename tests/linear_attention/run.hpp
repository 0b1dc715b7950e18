// SPDX-License-Identifier: Apache-2.0
// Runs linear attention problems in any memory layout.
#pragma once

#include "problem.hpp"
#include "support/backends.hpp"
#include "support/custom_feature.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/linear_attention.hpp>

#include <cstddef>
#include <type_traits>
#include <variant>
#include <vector>

namespace support {

// Contiguous results of forward and backward.
template <class T>
struct linear_results {
  std::vector<T> y, dq, dk, dv, dw;
  std::string wrong;  // describes invalid writes; empty if there are none

  friend bool same_results(linear_results const& a, linear_results const& b) {
    return same_bits(a.y, b.y) && same_bits(a.dq, b.dq) && same_bits(a.dk, b.dk) &&
           same_bits(a.dv, b.dv) && same_bits(a.dw, b.dw);
  }
};

template <class T>
tensor3<T> first_sample(tensor4<T> v) {
  strides4 const s = v.strides();
  return {v.data(), v.extents().sample(), s.sample()};
}

template <class T>
struct linear_tensors {
  strided_heads<T> q, k, v, w, dy, y, dq, dk, dv, dw;
  bool has_w;

  linear_tensors(linear_problem<T> const& problem, memory_layout layout)
      : q(problem.size.q(), problem.q, layout.strides(problem.size.q(), 0), layout.shift(0)),
        k(problem.size.k(), problem.k, layout.strides(problem.size.k(), 1), layout.shift(1)),
        v(problem.size.v(), problem.v, layout.strides(problem.size.v(), 2), layout.shift(2)),
        w(problem.w_shape(), problem.w, layout.strides(problem.w_shape(), 3), layout.shift(3)),
        dy(problem.size.y(), problem.dy, layout.strides(problem.size.y(), 4), layout.shift(4)),
        y(problem.size.y(), layout.strides(problem.size.y(), 5), layout.shift(5)),
        dq(problem.size.q(), problem.dq, layout.strides(problem.size.q(), 6), layout.shift(6)),
        dk(problem.size.k(), problem.dk, layout.strides(problem.size.k(), 7), layout.shift(7)),
        dv(problem.size.v(), problem.dv, layout.strides(problem.size.v(), 8), layout.shift(8)),
        dw(problem.w_shape(), problem.dw, layout.strides(problem.w_shape(), 9), layout.shift(9)),
        has_w(uses_w(problem.feature)) {}

  ss::linear_attention_inputs<T> inputs() const {
    return {q.view(), k.view(), v.view(), has_w ? first_sample(w.view()) : tensor3<T const>{}};
  }
  ss::linear_attention_gradients<T> gradients(unsigned requested) {
    auto const view = [&](unsigned bit, strided_heads<T>& gradient) {
      return (requested & bit) != 0 ? gradient.view() : tensor4<T>{};
    };
    return {view(linear_dq, dq), view(linear_dk, dk), view(linear_dv, dv),
            has_w && (requested & linear_dw) != 0 ? first_sample(dw.view()) : tensor3<T>{}};
  }
  bool padding_intact() const {
    for (strided_heads<T> const* tensor : {&q, &k, &v, &w, &dy, &y, &dq, &dk, &dv, &dw})
      if (!tensor->padding_intact()) return false;
    return true;
  }
};

// Calls forward and backward with exactly as much workspace as the operator requires.
template <class Op, class T>
void call_linear(Op const& op, linear_problem<T> const& problem, any_exec const& exec,
                 linear_tensors<T>& tensors, linear_results<T>& results) {
  extents4 const q = problem.size.q(), v = problem.size.v();
  extents3 const w = problem.w_extents(), dw = problem.computes_dw() ? w : extents3{};
  std::size_t const misalignment = problem.backend_seed() % 64;
  guarded_workspace forward_memory(op.template workspace_bytes<T>(exec, q, v, w), misalignment,
                                   0x7f);
  guarded_workspace backward_memory(op.template workspace_bytes<T>(exec, q, v, w, dw),
                                    misalignment + 13);
  op.forward(exec, tensors.inputs(), tensors.y.view(), forward_memory.get(), problem.options());
  results.y = tensors.y.contents();
  op.backward(exec, tensors.dy.view(), tensors.inputs(), tensors.gradients(problem.gradients),
              backward_memory.get(), problem.backward_options());
  if (!forward_memory.red_zones_intact() || !backward_memory.red_zones_intact())
    results.wrong = "workspace overrun";
}
// Runs `call` on tensors with the layout, and checks that it writes only its results.
template <class T, class Call>
linear_results<T> run_linear_with(linear_problem<T> const& problem, memory_layout layout,
                                  Call const& call) {
  linear_tensors<T> tensors(problem, layout);
  linear_results<T> results;
  call(tensors, results);
  results.dq = tensors.dq.contents();
  results.dk = tensors.dk.contents();
  results.dv = tensors.dv.contents();
  results.dw = tensors.dw.contents();
  if (!tensors.padding_intact()) results.wrong = "wrote beside a tensor";
  if (!same_bits(tensors.y.contents(), results.y)) results.wrong = "backward wrote to y";
  if (!same_bits(tensors.q.contents(), problem.q) || !same_bits(tensors.k.contents(), problem.k) ||
      !same_bits(tensors.v.contents(), problem.v) || !same_bits(tensors.w.contents(), problem.w) ||
      !same_bits(tensors.dy.contents(), problem.dy))
    results.wrong = "wrote to an input";
  return results;
}

// Calls f(operator) for the policies of the problem, but with the given feature map.
template <class Feature, class T, class F>
void with_feature(Feature const& feature, linear_problem<T> const& problem, F const& f) {
  std::visit(
      [&](auto const& divisor) {
        using Divisor = std::decay_t<decltype(divisor)>;
        if (problem.causal)
          f(ss::linear_attention<Feature, Divisor, ss::direction::causal>(feature, divisor,
                                                                          problem.multiply));
        else
          f(ss::linear_attention<Feature, Divisor>(feature, divisor, problem.multiply));
      },
      problem.divisor);
}
template <class T, class F>
void with_operator(linear_problem<T> const& problem, F const& f) {
  std::visit([&](auto const& feature) { with_feature(feature, problem, f); }, problem.feature);
}

template <class T>
linear_results<T> run_linear(linear_problem<T> const& problem, any_exec const& exec,
                             memory_layout layout = {}) {
  return run_linear_with(
      problem, layout, [&](linear_tensors<T>& tensors, linear_results<T>& results) {
        with_operator(problem,
                      [&](auto const& op) { call_linear(op, problem, exec, tensors, results); });
      });
}

// Runs a problem with a user-defined feature map.
template <class T>
linear_results<T> run_custom(custom_feature const& feature, linear_problem<T> const& problem,
                             any_exec const& exec, memory_layout layout = {}) {
  return run_linear_with(
      problem, layout, [&](linear_tensors<T>& tensors, linear_results<T>& results) {
        with_feature(feature, problem,
                     [&](auto const& op) { call_linear(op, problem, exec, tensors, results); });
      });
}

}  // namespace support
