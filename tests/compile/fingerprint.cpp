// SPDX-License-Identifier: Apache-2.0
// Prints a hash of all bits that an operator writes (outputs, saved state, gradients), one line for
// each operator, direction and element type. check_fingerprints.py builds it for several processors
// and compares the lines. The argument is the instruction set to use.
#include "../support/inputs.hpp"
#include "../support/pattern_order.hpp"
#include "../support/problems.hpp"
#include "fingerprints/attention.hpp"
#include "fingerprints/results.hpp"

#include <slicesort/slicesort.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

using namespace fingerprints;

namespace {

template <class T, class Index>
void add_sort(operator_fingerprints<T>& fingerprints, extents3 e,
              std::vector<index_t> const& valid_lengths) {
  ss::slicing_sort<pattern_order> const op(pattern_order{irregular});
  scratch memory(op.template workspace_bytes<T>(exec, e));
  tensor<T> const x = mixed_tensor<T>(e, all_kinds, 1), dy = mixed_tensor<T>(e, all_kinds, 2);
  tensor<T> y(e), dx = previous_gradients<T>(e);
  tensor<Index> perm(e);
  op.forward(exec, x.view(), y.view(), {perm.view()}, memory, {view_of(valid_lengths)});
  fingerprints.forward.add(y);
  fingerprints.forward.add(perm);
  op.backward(exec, dy.view(), {perm.view()}, dx.view(), memory,
              accumulate(view_of(valid_lengths)));
  fingerprints.backward.add(dx);
}
template <class T>
void print_slicing_sort() {
  operator_fingerprints<T> fingerprints("slicing_sort");
  add_sort<T, std::uint16_t>(fingerprints, shape, {});
  add_sort<T, std::int32_t>(fingerprints, shape, lengths);
  add_sort<T, std::uint32_t>(fingerprints, tall, {});
}

template <class T>
void print_argsort() {
  operator_fingerprints<T> fingerprints("argsort");
  ss::argsort<pattern_order> const op(pattern_order{irregular});
  scratch memory(op.template workspace_bytes<T>(exec, shape));
  tensor<std::uint16_t> indices(shape);
  op.forward(exec, mixed_tensor<T>(shape, all_kinds, 1).view(), indices.view(), memory,
             {view_of(lengths)});
  fingerprints.forward.add(indices);
}

template <class T>
void add_top_k(operator_fingerprints<T>& fingerprints, index_t k, ss::top_k_output output,
               ss::nan_order nan) {
  ss::top_k<pattern_order> const op(k, output, nan, pattern_order{irregular});
  extents3 const selected{shape.batch, k, shape.channels};
  scratch memory(op.template workspace_bytes<T>(exec, shape));
  tensor<T> const x = mixed_tensor<T>(shape, all_kinds, 1), dy = normal_tensor<T>(selected, 2);
  tensor<T> values(selected), dx = previous_gradients<T>(shape);
  tensor<std::uint32_t> indices(selected);
  op.forward(exec, x.view(), values.view(), {indices.view()}, memory, {view_of(lengths)});
  fingerprints.forward.add(values);
  fingerprints.forward.add(indices);
  op.backward(exec, dy.view(), {indices.view()}, dx.view(), memory, ss::grad_mode::accumulate);
  fingerprints.backward.add(dx);
}
template <class T>
void print_top_k() {
  operator_fingerprints<T> fingerprints("top_k");
  add_top_k(fingerprints, 9, ss::top_k_output::sorted, ss::nan_order::total);
  add_top_k(fingerprints, 100, ss::top_k_output::by_index, ss::nan_order::last);
}

template <class T, class Op>
void add_soft_operator(operator_fingerprints<T>& fingerprints, Op const& op) {
  scratch memory(op.template workspace_bytes<T>(exec, shape));
  tensor<T> const x = normal_tensor<T>(shape, 1), dy = normal_tensor<T>(shape, 2);
  tensor<T> y(shape), dx = previous_gradients<T>(shape);
  tensor<std::uint16_t> perm(shape), pools(shape);
  op.forward(exec, x.view(), y.view(), {perm.view(), pools.view()}, memory, {view_of(lengths)});
  fingerprints.forward.add(y);
  fingerprints.forward.add(perm);
  fingerprints.forward.add(pools);
  op.backward(exec, dy.view(), x.view(), {perm.view(), pools.view()}, dx.view(), memory,
              accumulate(view_of(lengths)));
  fingerprints.backward.add(dx);
}
template <class T>
void print_soft_sort() {
  operator_fingerprints<T> sort_fingerprints("soft_sort"), rank_fingerprints("soft_rank");
  pattern_order const order{irregular};
  for (double strength : {0.05, 4.0}) {
    ss::regularization::l2 const l2;
    ss::regularization::entropic const entropic;
    add_soft_operator(sort_fingerprints, ss::soft_sort(strength, l2, order));
    add_soft_operator(sort_fingerprints, ss::soft_sort(strength, entropic, order));
    add_soft_operator(rank_fingerprints, ss::soft_rank(strength, l2, order));
    add_soft_operator(rank_fingerprints, ss::soft_rank(strength, entropic, order));
  }
}

template <class T>
void print_permute() {
  operator_fingerprints<T> fingerprints("permute");
  for (extents3 e : {shape, tall}) {
    std::vector<index_t> const valid_lengths = e == shape ? lengths : std::vector<index_t>{65599};
    scratch memory(ss::permute::workspace_bytes<T>(exec, e));
    tensor<T> const x = mixed_tensor<T>(e, all_kinds, 1), dy = normal_tensor<T>(e, 2);
    tensor<T> y(e), dx = previous_gradients<T>(e);
    tensor<std::uint32_t> perm(e);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      // A permutation, since 7 is coprime to the lengths.
      auto const rows = static_cast<std::uint32_t>(valid_lengths[static_cast<std::size_t>(b)]);
      perm(b, n, c) = (static_cast<std::uint32_t>(n) * 7u + static_cast<std::uint32_t>(c)) % rows;
    });
    ss::permute const op;
    op.forward(exec, x.view(), {perm.view()}, y.view(), memory, {view_of(valid_lengths)});
    fingerprints.forward.add(y);
    op.backward(exec, dy.view(), {perm.view()}, dx.view(), memory,
                accumulate(view_of(valid_lengths)));
    fingerprints.backward.add(dx);
  }
}

template <class T>
void print_multi_permutation() {
  operator_fingerprints<T> fingerprints("multi_permutation");
  using A = ss::detail::accumulator_t<T>;
  ss::multi_permutation<pattern_order> const op(3, pattern_order{zigzag});
  scratch memory(op.template workspace_bytes<T>(exec, shape));
  tensor<T> const x = normal_tensor<T>(shape, 1), dy = normal_tensor<T>(shape, 2);
  tensor<T> y(shape), dx = previous_gradients<T>(shape);
  tensor<std::uint16_t> perm(shape);
  std::vector<A> const w = normal_values<A>(3, 3);
  std::vector<A> dw(3);
  ss::tensor1<A const> const weights(w.data(), 3);
  op.forward(exec, x.view(), weights, y.view(), {perm.view()}, memory, {view_of(lengths)});
  fingerprints.forward.add(y);
  fingerprints.forward.add(perm);
  op.backward(exec, dy.view(), x.view(), weights, {perm.view()}, dx.view(),
              ss::tensor1<A>(dw.data(), 3), memory, accumulate(view_of(lengths)));
  fingerprints.backward.add(dx);
  fingerprints.backward.add(dw);
}

template <class T>
void print_short_convolution() {
  operator_fingerprints<T> fingerprints("short_convolution");
  ss::short_convolution const op(4, 2);
  scratch memory(op.workspace_bytes<T>(exec, shape));
  extents3 const filters{1, 4, shape.channels};
  tensor<T> const x = normal_tensor<T>(shape, 1), dy = normal_tensor<T>(shape, 2),
                  weights = normal_tensor<T>(filters, 3);
  tensor<T> y(shape), dx = previous_gradients<T>(shape), dweights = previous_gradients<T>(filters);
  op.forward(exec, x.view(), weights.view(), y.view(), memory, {view_of(lengths)});
  fingerprints.forward.add(y);
  op.backward(exec, dy.view(), x.view(), weights.view(), dx.view(), dweights.view(), memory,
              accumulate(view_of(lengths)));
  fingerprints.backward.add(dx);
  fingerprints.backward.add(dweights);
}

template <class T>
void print_decaying_sum() {
  operator_fingerprints<T> fingerprints("decaying_sum");
  ss::decaying_sum const op(2, ss::decay_numbers::complex, ss::decay_direction::both);
  scratch memory(op.workspace_bytes<T>(exec, shape));
  extents3 const numbers{1, op.numbers(), shape.channels};
  tensor<T> const x = normal_tensor<T>(shape, 1), dy = normal_tensor<T>(shape, 2),
                  a = normal_tensor<T>(numbers, 3), w = normal_tensor<T>(numbers, 4);
  tensor<T> y(shape), dx = previous_gradients<T>(shape), da = previous_gradients<T>(numbers),
                      dw = previous_gradients<T>(numbers);
  auto const view = [&](auto numbers_view) {
    return ss::tensor4<std::remove_pointer_t<decltype(numbers_view.data())>>(
        numbers_view.data(), {1, op.numbers(), 1, shape.channels});
  };
  ss::decay_inputs<T> const in{view(a.view()), view(w.view())};
  op.forward(exec, x.view(), in, y.view(), {}, memory, {view_of(lengths)});
  fingerprints.forward.add(y);
  op.backward(exec, dy.view(), x.view(), in, {dx.view(), view(da.view()), view(dw.view())}, {},
              memory, accumulate(view_of(lengths)));
  fingerprints.backward.add(dx);
  fingerprints.backward.add(da);
  fingerprints.backward.add(dw);
}

template <class T>
void print_max_exchange() {
  operator_fingerprints<T> fingerprints("max_exchange");
  ss::max_exchange const op(5);
  scratch memory(op.workspace_bytes<T>(exec, shape));
  tensor<T> const x = mixed_tensor<T>(shape, all_kinds, 1), dy = normal_tensor<T>(shape, 2);
  tensor<T> y(shape), dx = previous_gradients<T>(shape);
  tensor<std::uint16_t> maximum({shape.batch, 1, shape.channels});
  op.forward(exec, x.view(), y.view(), {maximum.view()}, memory, {view_of(lengths)});
  fingerprints.forward.add(y);
  fingerprints.forward.add(maximum);
  op.backward(exec, dy.view(), {maximum.view()}, dx.view(), memory, accumulate());
  fingerprints.backward.add(dx);
}

template <class T, class Granularity>
void add_shuffle(operator_fingerprints<T>& fingerprints, ss::shuffle<Granularity> const& op) {
  scratch memory(op.template workspace_bytes<T>(exec, shape));
  tensor<T> const x = normal_tensor<T>(shape, 1);
  tensor<T> y(shape), dx = previous_gradients<T>(shape);
  op.forward(exec, x.view(), y.view(), memory, {view_of(lengths)});
  fingerprints.forward.add(y);
  op.backward(exec, x.view(), dx.view(), memory, accumulate(view_of(lengths)));
  fingerprints.backward.add(dx);
}
template <class T>
void print_shuffle() {
  operator_fingerprints<T> fingerprints("shuffle");
  add_shuffle(fingerprints, ss::shuffle<ss::shared_by_channels>(7));
  add_shuffle(fingerprints, ss::shuffle<ss::per_channel>(7));
}

template <class T, class Op>
void add_csp(operator_fingerprints<T>& fingerprints, Op const& op) {
  scratch memory(op.template workspace_bytes<T>(exec, shape));
  tensor<T> const x = mixed_tensor<T>(shape, all_kinds, 1), dy = normal_tensor<T>(shape, 2);
  tensor<T> y(shape), dx = previous_gradients<T>(shape);
  tensor<std::uint8_t> order(op.saved_extents(shape));
  op.forward(exec, x.view(), y.view(), {order.view()}, memory, {view_of(lengths)});
  fingerprints.forward.add(y);
  fingerprints.forward.add(order);
  op.backward(exec, dy.view(), {order.view()}, dx.view(), memory, accumulate(view_of(lengths)));
  fingerprints.backward.add(dx);
}
template <class T>
void print_csp() {
  operator_fingerprints<T> fingerprints("csp");
  for (index_t rows : {2, 16, 131}) {
    add_csp(fingerprints, ss::csp{ss::group_size{rows}});
    add_csp(fingerprints, ss::csp<ss::shift::power, ss::reference>{ss::group_size{rows}});
  }
  add_csp(fingerprints, ss::csp<ss::shift::none>{ss::group_size{2}});
}

template <class T>
void print_sinkhorn() {
  operator_fingerprints<T> fingerprints("sinkhorn");
  for (double tau : {1.0, 0.02})
    for (extents3 e : {small, extents3{40, 4, 4}}) {
      ss::sinkhorn const op{tau, {5, ss::side::rows}};
      scratch memory(op.workspace_bytes<T>(exec, e));
      tensor<T> const x = normal_tensor<T>(e, 1), dy = normal_tensor<T>(e, 2);
      tensor<T> y(e), dx = previous_gradients<T>(e);
      op.forward(exec, x.view(), y.view(), memory);
      fingerprints.forward.add(y);
      op.backward(exec, dy.view(), x.view(), dx.view(), memory, ss::grad_mode::accumulate);
      fingerprints.backward.add(dx);
    }
}

template <class T>
void print_sinkhorn_csp() {
  operator_fingerprints<T> fingerprints("sinkhorn_csp");
  for (double tau : {1.0, 0.05}) {
    ss::sinkhorn_csp<> const op{ss::group_size{9}, ss::sinkhorn{tau, 2}};
    scratch memory(op.template workspace_bytes<T>(exec, small));
    tensor<T> const x = normal_tensor<T>(small, 1), dy = normal_tensor<T>(small, 2);
    tensor<T> y(small), dx = previous_gradients<T>(small);
    op.forward(exec, x.view(), y.view(), memory, {view_of(small_lengths)});
    fingerprints.forward.add(y);
    op.backward(exec, dy.view(), x.view(), dx.view(), memory, accumulate(view_of(small_lengths)));
    fingerprints.backward.add(dx);
  }
}

template <class T, class Op>
void add_mix(operator_fingerprints<T>& fingerprints, Op const& op, index_t factors, index_t links) {
  ss::stack_extents const e{factors, small.batch, small.length, links};
  scratch memory(op.template workspace_bytes<T>(exec, small, e));
  tensor<T> const x = normal_tensor<T>(small, 1), dy = normal_tensor<T>(small, 2);
  tensor<T> y(small), dx = previous_gradients<T>(small);
  std::vector<T> const w = normal_values<T>(e.size(), 3);
  std::vector<T> dw = normal_values<T>(e.size(), 4);
  ss::stack_extents const saved = op.saved_extents(small, e);
  std::vector<T> states(static_cast<std::size_t>(saved.size()));
  ss::tensor_stack<T const> const weights(w.data(), e);
  ss::tensor_stack<T> const state(states.data(), saved);
  op.forward(exec, x.view(), weights, y.view(), {state}, memory, {view_of(small_lengths)});
  fingerprints.forward.add(y);
  fingerprints.forward.add(states);
  op.backward(exec, dy.view(), x.view(), weights, {state}, dx.view(),
              ss::tensor_stack<T>(dw.data(), e), memory, accumulate(view_of(small_lengths)));
  fingerprints.backward.add(dx);
  fingerprints.backward.add(dw);
}
template <class T>
void print_sparse_mix() {
  operator_fingerprints<T> fingerprints("sparse_mix");
  add_mix<T>(fingerprints, ss::sparse_mix<>{ss::topology::chord{}}, 4, 5);
  add_mix<T>(fingerprints, ss::sparse_mix<ss::topology::cdil>{ss::topology::cdil{2}, ss::recompute},
             3, 5);
}

template <class T>
void print_every_operator() {
  print_slicing_sort<T>();
  print_argsort<T>();
  print_top_k<T>();
  print_soft_sort<T>();
  print_permute<T>();
  print_multi_permutation<T>();
  print_short_convolution<T>();
  print_decaying_sum<T>();
  print_max_exchange<T>();
  print_shuffle<T>();
  print_csp<T>();
  print_sinkhorn<T>();
  if constexpr (sizeof(T) >= sizeof(float)) print_sinkhorn_csp<T>();
  print_sparse_mix<T>();
  print_softmax_attention<T>();
  print_pointwise_attention<T>();
  print_linear_attention<T>();
  print_merge_attention<T>();
}

}  // namespace

int main(int argc, char** argv) {
  std::string const set_name = argc > 1 ? argv[1] : "best";
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512})
    if (set_name == ss::detail::isa_name(set)) exec.instructions = set;
  if (!ss::detail::is_isa_available(exec.instructions)) return 77;
  print_every_operator<float>();
  print_every_operator<double>();
  print_every_operator<float16>();
  print_every_operator<bfloat16>();
}
