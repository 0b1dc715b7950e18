// SPDX-License-Identifier: Apache-2.0
// Prints the fingerprints of attention operators.
#pragma once

#include "results.hpp"

#include <slicesort/slicesort.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace fingerprints {

// Inputs, outputs and gradients of attention. The call accumulates into the gradients.
template <class T>
struct attention_tensors {
  ss::extents4 rows, columns;  // extents of q, and of k and v
  std::vector<T> const q = normal_values<T>(rows.size(), 1),
                       k = normal_values<T>(columns.size(), 2),
                       v = normal_values<T>(columns.size(), 3),
                       dy = normal_values<T>(rows.size(), 5);
  std::vector<T> y = q, dq = q, dk = k, dv = v;

  attention_tensors(ss::extents4 query_extents, ss::extents4 key_extents)
      : rows(query_extents), columns(key_extents) {}

  template <class Inputs, class View>
  Inputs inputs(View const& last) const {
    return {view(q, rows), view(k, columns), view(v, columns), last};
  }
  template <class Gradients, class View>
  Gradients gradients(View const& last) {
    return {view(dq, rows), view(dk, columns), view(dv, columns), last};
  }
  template <class Elements>
  static auto view(Elements& elements, ss::extents4 e) {
    return ss::tensor4<std::remove_pointer_t<decltype(elements.data())>>(elements.data(), e);
  }
  void add_to(operator_fingerprints<T>& fingerprints) const {
    fingerprints.forward.add(y);
    for (auto const* gradient : {&dq, &dk, &dv}) fingerprints.backward.add(*gradient);
  }
};
inline constexpr ss::extents4 queries{2, 2, 67, 37}, keys{2, 2, 139, 37}, scores{2, 2, 67, 139};

template <class T, class State, class Op>
void add_softmax_attention(operator_fingerprints<T>& fingerprints, Op const& op) {
  scratch memory(op.template workspace_bytes<T>(exec, queries, keys));
  attention_tensors<T> tensors(queries, keys);
  std::vector<T> const bias = normal_values<T>(scores.size(), 4);
  std::vector<T> dbias = bias;
  ss::extents4 const saved = op.saved_extents(queries, keys);
  std::vector<State> state(static_cast<std::size_t>(saved.size()));
  auto const state_view = tensors.view(state, saved);
  auto const inputs = tensors.template inputs<ss::attention_inputs<T>>(tensors.view(bias, scores));
  op.forward(exec, inputs, tensors.view(tensors.y, queries), {state_view}, memory,
             {view_of(key_lengths)});
  op.backward(exec, tensors.view(tensors.dy, queries), inputs, tensors.view(tensors.y, queries),
              {state_view},
              tensors.template gradients<ss::attention_gradients<T>>(tensors.view(dbias, scores)),
              memory, {ss::grad_mode::accumulate, view_of(key_lengths)});
  tensors.add_to(fingerprints);
  fingerprints.forward.add(state);
  fingerprints.backward.add(dbias);
}
template <class T>
void print_softmax_attention() {
  operator_fingerprints<T> fingerprints("softmax_attention");
  add_softmax_attention<T, ss::detail::accumulator_t<T>>(fingerprints,
                                                         ss::softmax_attention<ss::mask::causal>{});
  add_softmax_attention<T, T>(fingerprints,
                              ss::softmax_attention<ss::mask::full, ss::materialized<>>{});
}

template <class T, class Op>
void add_pointwise_attention(operator_fingerprints<T>& fingerprints, Op const& op) {
  scratch memory(op.template workspace_bytes<T>(exec, queries, keys));
  attention_tensors<T> tensors(queries, keys);
  std::vector<T> const bias = normal_values<T>(scores.size(), 4);
  std::vector<T> dbias = bias;
  auto const inputs = tensors.template inputs<ss::attention_inputs<T>>(tensors.view(bias, scores));
  op.forward(exec, inputs, tensors.view(tensors.y, queries), memory, {view_of(key_lengths)});
  op.backward(exec, tensors.view(tensors.dy, queries), inputs,
              tensors.template gradients<ss::attention_gradients<T>>(tensors.view(dbias, scores)),
              memory, {ss::grad_mode::accumulate, view_of(key_lengths)});
  tensors.add_to(fingerprints);
  fingerprints.backward.add(dbias);
}
template <class T>
void print_pointwise_attention() {
  operator_fingerprints<T> fingerprints("pointwise_attention");
  add_pointwise_attention(fingerprints, ss::pointwise_attention<ss::mask::causal>{});
  add_pointwise_attention(
      fingerprints, ss::pointwise_attention{ss::score_function::squared_relu{}, ss::per_key{}});
}

template <class T, class Op>
void add_linear_attention(operator_fingerprints<T>& fingerprints, Op const& op, extents3 w = {}) {
  scratch memory(op.template workspace_bytes<T>(exec, keys, keys, w, w));
  attention_tensors<T> tensors(keys, keys);
  tensor<T> const weights = normal_tensor<T>(w, 4);
  tensor<T> dw = previous_gradients<T>(w);
  bool const has_weights = w.size() > 0;
  auto const inputs = tensors.template inputs<ss::linear_attention_inputs<T>>(
      has_weights ? weights.view() : ss::tensor3<T const>{});
  op.forward(exec, inputs, tensors.view(tensors.y, keys), memory, {view_of(key_lengths)});
  op.backward(exec, tensors.view(tensors.dy, keys), inputs,
              tensors.template gradients<ss::linear_attention_gradients<T>>(
                  has_weights ? dw.view() : ss::tensor3<T>{}),
              memory, {ss::grad_mode::accumulate, view_of(key_lengths)});
  tensors.add_to(fingerprints);
  fingerprints.backward.add(dw);
}
template <class T>
void print_linear_attention() {
  operator_fingerprints<T> fingerprints("linear_attention");
  add_linear_attention(fingerprints, ss::linear_attention<>{});
  add_linear_attention(fingerprints, ss::linear_attention{ss::feature::cosine_reweighted{},
                                                          ss::divisor::at_least{1e-3}});
  add_linear_attention(fingerprints,
                       ss::linear_attention{ss::feature::random_exp{}, ss::direction::causal{}},
                       {2, 19, keys.channels});
  add_linear_attention(fingerprints,
                       ss::linear_attention{ss::feature::random_fourier{}, ss::divisor::none{}},
                       {1, 19, keys.channels});
}

template <class T>
void print_merge_attention() {
  using A = ss::detail::accumulator_t<T>;
  operator_fingerprints<T> fingerprints("merge_attention");
  ss::extents4 const numbers{queries.batch, queries.heads, queries.length, 2};
  std::vector<T> const values[] = {normal_values<T>(queries.size(), 1),
                                   normal_values<T>(queries.size(), 2),
                                   normal_values<T>(queries.size(), 3)};
  std::vector<A> states[3];
  for (std::vector<A>& state : states) {
    state = normal_values<A>(numbers.size(), 4 + static_cast<std::uint64_t>(&state - states));
    for (std::size_t i = 1; i < state.size(); i += 2) state[i] = std::fabs(state[i]);  // sums
  }
  std::vector<T> y(values[0].size());
  std::vector<A> merged_state(states[0].size());
  auto const part = [&](std::size_t i) {
    return ss::attention_part<T>{{values[i].data(), queries}, {states[i].data(), numbers}};
  };
  scratch memory(ss::merge_attention::workspace_bytes<T>(exec, queries));
  ss::merge_attention{}.forward(exec, {part(0), part(1), part(2)},
                                ss::tensor4<T>(y.data(), queries),
                                {ss::tensor4<A>(merged_state.data(), numbers)}, memory);
  fingerprints.forward.add(y);
  fingerprints.forward.add(merged_state);
}

}  // namespace fingerprints
