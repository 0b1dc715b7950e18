// SPDX-License-Identifier: Apache-2.0
// Runs problems of linear attention, in any layout.
#pragma once

#include "problem.hpp"
#include "support/backends.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/linear_attention.hpp>

#include <cstddef>
#include <type_traits>
#include <variant>
#include <vector>

namespace support {

// What a call puts out, contiguous.
template <class T>
struct linear_results {
  std::vector<T> y, dq, dk, dv, dw;
  std::string wrong;  // what it wrote that it must not

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
struct linear_stacks {
  strided_heads<T> q, k, v, w, dy, y, dq, dk, dv, dw;
  bool matrix;  // whether there is a w

  linear_stacks(linear_problem<T> const& p, memory_layout l)
      : q(p.size.q(), p.q, l.strides(p.size.q(), 0), l.shift(0)),
        k(p.size.k(), p.k, l.strides(p.size.k(), 1), l.shift(1)),
        v(p.size.v(), p.v, l.strides(p.size.v(), 2), l.shift(2)),
        w(p.of_w(), p.w, l.strides(p.of_w(), 3), l.shift(3)),
        dy(p.size.y(), p.dy, l.strides(p.size.y(), 4), l.shift(4)),
        y(p.size.y(), l.strides(p.size.y(), 5), l.shift(5)),
        dq(p.size.q(), p.dq, l.strides(p.size.q(), 6), l.shift(6)),
        dk(p.size.k(), p.dk, l.strides(p.size.k(), 7), l.shift(7)),
        dv(p.size.v(), p.dv, l.strides(p.size.v(), 8), l.shift(8)),
        dw(p.of_w(), p.dw, l.strides(p.of_w(), 9), l.shift(9)),
        matrix(has_matrix(p.feature)) {}

  ss::linear_attention_inputs<T> inputs() const {
    return {q.view(), k.view(), v.view(), matrix ? first_sample(w.view()) : tensor3<T const>{}};
  }
  ss::linear_attention_gradients<T> gradients(unsigned wanted) {
    auto const one = [&](unsigned bit, strided_heads<T>& to) {
      return (wanted & bit) != 0 ? to.view() : tensor4<T>{};
    };
    return {one(linear_dq, dq), one(linear_dk, dk), one(linear_dv, dv),
            matrix && (wanted & linear_dw) != 0 ? first_sample(dw.view()) : tensor3<T>{}};
  }
  bool gaps_untouched() const {
    for (strided_heads<T> const* one : {&q, &k, &v, &w, &dy, &y, &dq, &dk, &dv, &dw})
      if (!one->gaps_untouched()) return false;
    return true;
  }
};

// The two calls of an operator, with no more workspace than it asks for.
template <class Op, class T>
void call_linear(Op const& op, linear_problem<T> const& p, any_exec const& exec,
                 linear_stacks<T>& t, linear_results<T>& results) {
  extents4 const q = p.size.q(), v = p.size.v();
  extents3 const w = p.of_w_as_rank3(), dw = p.wants_dw() ? w : extents3{};
  std::size_t const some = p.number() % 64;
  guarded_workspace one(op.template workspace_bytes<T>(exec, q, v, w), some, 0x7f);
  guarded_workspace two(op.template workspace_bytes<T>(exec, q, v, w, dw), some + 13);
  op.forward(exec, t.inputs(), t.y.view(), one.get(), p.options());
  results.y = t.y.contents();
  op.backward(exec, t.dy.view(), t.inputs(), t.gradients(p.wanted), two.get(),
              p.backward_options());
  if (!one.red_zones_intact() || !two.red_zones_intact()) results.wrong = "workspace overrun";
}
// The same, and what else must hold of them.
template <class T, class Call>
linear_results<T> run_linear_by(linear_problem<T> const& p, memory_layout layout,
                                Call const& call) {
  linear_stacks<T> t(p, layout);
  linear_results<T> results;
  call(t, results);
  results.dq = t.dq.contents();
  results.dk = t.dk.contents();
  results.dv = t.dv.contents();
  results.dw = t.dw.contents();
  if (!t.gaps_untouched()) results.wrong = "wrote beside a tensor";
  if (!same_bits(t.y.contents(), results.y)) results.wrong = "backward wrote to y";
  if (!same_bits(t.q.contents(), p.q) || !same_bits(t.k.contents(), p.k) ||
      !same_bits(t.v.contents(), p.v) || !same_bits(t.w.contents(), p.w) ||
      !same_bits(t.dy.contents(), p.dy))
    results.wrong = "wrote to an input";
  return results;
}

// f(operator) with the policies of a problem as types; with another feature in place of its own.
template <class Feature, class T, class F>
void with_feature(Feature const& feature, linear_problem<T> const& p, F const& f) {
  std::visit(
      [&](auto const& divisor) {
        using Divisor = std::decay_t<decltype(divisor)>;
        if (p.causal)
          f(ss::linear_attention<Feature, Divisor, ss::direction::causal>(feature, divisor,
                                                                          p.multiply));
        else
          f(ss::linear_attention<Feature, Divisor>(feature, divisor, p.multiply));
      },
      p.divisor);
}
template <class T, class F>
void with_operator(linear_problem<T> const& p, F const& f) {
  std::visit([&](auto const& feature) { with_feature(feature, p, f); }, p.feature);
}

template <class T>
linear_results<T> run_linear(linear_problem<T> const& p, any_exec const& exec,
                             memory_layout layout = {}) {
  return run_linear_by(p, layout, [&](linear_stacks<T>& t, linear_results<T>& results) {
    with_operator(p, [&](auto const& op) { call_linear(op, p, exec, t, results); });
  });
}

}  // namespace support
