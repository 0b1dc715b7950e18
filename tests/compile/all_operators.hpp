// SPDX-License-Identifier: Apache-2.0
// One small call of every operator, for programs that test how translation units are built and
// linked.
#pragma once

#include <slicesort/slicesort.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// In an unnamed namespace, so that the linker does not merge the functions of different units.
namespace all_operators {
namespace {

namespace ss = slicesort;

// A tensor that owns its elements.
template <class T>
struct tensor {
  explicit tensor(ss::extents3 e) : extents(e), values(static_cast<std::size_t>(e.size())) {}
  ss::tensor3<T> view() { return {values.data(), extents}; }
  ss::tensor3<T const> read() const { return {values.data(), extents}; }

  ss::extents3 extents;
  std::vector<T> values;
};

template <class T>
unsigned hash(T element, unsigned seed) {
  auto const value = static_cast<float>(element);
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (seed ^ bits) * 16777619u;
}

// Returns a hash of all results of every operator on a fixed input. It is equal in all programs.
template <class T = float>
unsigned fingerprint(ss::exec::host exec = {}, ss::grad_mode mode = ss::grad_mode::overwrite) {
  using A = ss::detail::accumulator_t<T>;
  ss::extents3 const e{2, 37, 5};
  tensor<T> x(e), y(e), dx(e);
  for (std::size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = T(0.14f * static_cast<float>(static_cast<int>(i * 2654435761u % 97u) - 48));
  std::vector<unsigned char> memory(1 << 20);
  ss::workspace const scratch{memory.data(), memory.size()};
  unsigned seed = 2166136261u;
  auto const add_hash = [&seed](tensor<T> const& t) {
    for (T value : t.values) seed = hash(value, seed);
  };

  tensor<ss::bfloat16> bf16_x(e), bf16_y(e);
  for (std::size_t i = 0; i < x.values.size(); ++i)
    bf16_x.values[i] = ss::bfloat16(static_cast<float>(x.values[i]));
  ss::slicing_sort<>{}.forward(exec, bf16_x.read(), bf16_y.view(), ss::no_saved, scratch);
  for (ss::bfloat16 v : bf16_y.values) seed = hash(static_cast<float>(v), seed);

  tensor<std::uint16_t> perm(e);
  ss::slicing_sort<ss::half_half> const sort{ss::half_half{}};
  sort.forward(exec, x.read(), y.view(), {perm.view()}, scratch);
  add_hash(y);
  sort.backward(exec, y.read(), {perm.view()}, dx.view(), scratch, {mode});
  add_hash(dx);

  ss::permute const permutation{};
  permutation.forward(exec, y.read(), {perm.view()}, dx.view(), scratch);
  add_hash(dx);
  permutation.backward(exec, x.read(), {perm.view()}, dx.view(), scratch, {mode});
  add_hash(dx);

  tensor<std::uint16_t> component_perms(e);
  ss::multi_permutation<ss::ascending> const permutations{3};
  permutations.forward(exec, x.read(), ss::uniform_weights, y.view(), {component_perms.view()},
                       scratch);
  add_hash(y);
  permutations.backward(exec, y.read(), ss::uniform_weights, {component_perms.view()}, dx.view(),
                        scratch, {mode});
  add_hash(dx);
  std::vector<A> const component_weights{A(0.3f), A(0.2f), A(0.1f)};
  std::vector<A> component_gradients(3);
  permutations.forward(exec, x.read(), ss::view(component_weights), y.view(),
                       {component_perms.view()}, scratch);
  add_hash(y);
  permutations.backward(exec, y.read(), x.read(), ss::view(component_weights),
                        {component_perms.view()}, dx.view(), ss::view(component_gradients),
                        scratch);
  add_hash(dx);
  for (A v : component_gradients) seed = hash(v, seed);

  tensor<std::uint16_t> max_indices({e.batch, 1, e.channels});
  ss::max_exchange const exchange{};
  exchange.forward(exec, x.read(), y.view(), {max_indices.view()}, scratch);
  add_hash(y);
  exchange.backward(exec, y.read(), {max_indices.view()}, dx.view(), scratch, {mode});
  add_hash(dx);

  ss::top_k<> const largest{3};
  tensor<T> selected({e.batch, 3, e.channels});
  tensor<std::uint16_t> selected_rows(selected.extents);
  largest.forward(exec, x.read(), selected.view(), {selected_rows.view()}, scratch);
  add_hash(selected);
  largest.backward(exec, selected.read(), {selected_rows.view()}, dx.view(), scratch, mode);
  add_hash(dx);
  tensor<std::uint16_t> pools(e);
  ss::soft_sort const soft_values{0.5};
  soft_values.forward(exec, x.read(), y.view(), {perm.view(), pools.view()}, scratch);
  add_hash(y);
  soft_values.backward(exec, y.read(), x.read(), {perm.view(), pools.view()}, dx.view(), scratch,
                       {mode});
  add_hash(dx);
  ss::soft_rank const soft_ranks{0.5, ss::regularization::entropic{}};
  soft_ranks.forward(exec, x.read(), y.view(), {perm.view(), pools.view()}, scratch);
  add_hash(y);

  ss::shuffle<ss::per_channel> const shuffle{7};
  shuffle.forward(exec, x.read(), y.view(), scratch);
  add_hash(y);
  shuffle.backward(exec, y.read(), dx.view(), scratch, {mode});
  add_hash(dx);

  std::vector<T> filters(4), filter_gradients(4);
  for (std::size_t k = 0; k < filters.size(); ++k) filters[k] = x.values[k];
  ss::tensor3<T const> const filter(filters.data(), {1, 4, 1});
  ss::tensor3<T> const filter_gradient(filter_gradients.data(), {1, 4, 1});
  auto const convolution = ss::short_convolution::causal(4);
  convolution.forward(exec, x.read(), filter, y.view(), scratch);
  add_hash(y);
  convolution.backward(exec, y.read(), x.read(), filter, dx.view(), filter_gradient, scratch,
                       {mode});
  add_hash(dx);
  for (T v : filter_gradients) seed = hash(v, seed);

  std::vector<T> decays(static_cast<std::size_t>(e.channels));
  for (std::size_t c = 0; c < decays.size(); ++c) decays[c] = x.values[c];
  ss::tensor4<T const> const decay(decays.data(), {1, 1, 1, e.channels});
  ss::decaying_sum const recurrence;
  recurrence.forward(exec, x.read(), {decay}, y.view(), {}, scratch);
  add_hash(y);
  recurrence.backward(exec, y.read(), x.read(), {decay}, {dx.view()}, {}, scratch, {mode});
  add_hash(dx);

  ss::csp const csp{ss::group_size{2}};
  tensor<std::uint8_t> order(csp.saved_extents(e));
  csp.forward(exec, x.read(), y.view(), {order.view()}, scratch);
  add_hash(y);
  csp.backward(exec, y.read(), {order.view()}, dx.view(), scratch, {mode});
  add_hash(dx);

  ss::sinkhorn const doubly_stochastic{1.0, {3, ss::side::rows}};
  doubly_stochastic.forward(exec, x.read(), y.view(), scratch);
  add_hash(y);
  doubly_stochastic.backward(exec, y.read(), x.read(), dx.view(), scratch, {mode});
  add_hash(dx);

  if constexpr (sizeof(T) >= sizeof(float)) {  // other elements are not supported
    ss::sinkhorn_csp<> const sinkhorn{ss::group_size{4}, ss::sinkhorn{1.0, 2}};
    sinkhorn.forward(exec, x.read(), y.view(), scratch);
    add_hash(y);
    sinkhorn.backward(exec, y.read(), x.read(), dx.view(), scratch, {mode});
    add_hash(dx);
  }

  ss::stack_extents const weight_extents{3, e.batch, e.length, 4};
  std::vector<T> w(static_cast<std::size_t>(weight_extents.size())), dw(w.size());
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = T(0.125f * static_cast<float>(static_cast<int>(i * 2654435761u % 13u) - 6));
  ss::tensor_stack<T const> const weights(w.data(), weight_extents);
  ss::sparse_mix<> const sparse_mix{ss::topology::chord{}, ss::recompute};
  sparse_mix.forward(exec, x.read(), weights, y.view(), ss::no_saved, scratch);
  add_hash(y);
  sparse_mix.backward(exec, y.read(), x.read(), weights, ss::no_saved, dx.view(),
                      ss::tensor_stack<T>(dw.data(), weight_extents), scratch, {mode});
  add_hash(dx);
  for (T v : dw) seed = hash(v, seed);

  ss::softmax_attention<ss::mask::causal> const attention{};
  ss::tensor4<T const> const heads = ss::split_heads(x.read(), e.channels);
  ss::tensor4<T> const attention_y = ss::split_heads(y.view(), e.channels);
  std::vector<A> softmax_state(static_cast<std::size_t>(2 * e.size()));
  ss::tensor4<A> const softmax_state_view(
      softmax_state.data(), attention.saved_extents(heads.extents(), heads.extents()));
  attention.forward(exec, {heads, heads, heads}, attention_y, {softmax_state_view}, scratch);
  add_hash(y);
  attention.backward(exec, heads, {heads, heads, heads}, attention_y, {softmax_state_view},
                     {ss::split_heads(dx.view(), e.channels)}, scratch, {mode});
  add_hash(dx);

  ss::pointwise_attention<ss::mask::causal> const pointwise{};
  pointwise.forward(exec, {heads, heads, heads}, attention_y, scratch);
  add_hash(y);
  pointwise.backward(exec, heads, {heads, heads, heads}, {ss::split_heads(dx.view(), e.channels)},
                     scratch, {mode});
  add_hash(dx);

  ss::merge_attention{}.forward(exec,
                                {{attention_y, softmax_state_view}, {heads, softmax_state_view}},
                                ss::split_heads(dx.view(), e.channels), ss::no_saved);
  add_hash(dx);

  ss::linear_attention<ss::feature::cosine_reweighted, ss::divisor::at_least,
                       ss::direction::causal> const linear{};
  linear.forward(exec, {heads, heads, heads}, attention_y, scratch);
  add_hash(y);
  linear.backward(exec, heads, {heads, heads, heads}, {ss::split_heads(dx.view(), e.channels)},
                  scratch, {mode});
  add_hash(dx);
  return seed;
}

}  // namespace
}  // namespace all_operators
