// SPDX-License-Identifier: Apache-2.0
// Operands of the named calls. One block of memory holds all inputs, another all outputs.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace support {

namespace ss = slicesort;
using ss::extents3;
using ss::index_t;

inline constexpr index_t components = 3;          // of multi_permutation
inline constexpr int csp_calls = 4;               // each has its own saved order
inline constexpr index_t factors = 3, links = 3;  // of sparse_mix

// Shapes of attention: batch and channels of the call, and at most a few tiles of rows, to save
// time.
struct attention_extents {
  static constexpr index_t max_rows = 300, random_features = 5;

  extents3 e;  // with packed heads
  index_t heads;

  explicit attention_extents(extents3 call)
      : e{call.batch, std::min(call.length, max_rows), call.channels},
        heads(call.channels % 3 == 0 ? 3 : 1) {}
  ss::extents4 of_heads() const { return {e.batch, heads, e.length, e.channels / heads}; }
  ss::extents4 of_state() const { return {e.batch, heads, e.length, 2}; }
  extents3 of_w() const { return {heads, random_features, e.channels / heads}; }
};

template <class T>
struct operands {
  using A = ss::detail::accumulator_t<T>;

  extents3 e;
  attention_extents attention;
  T *x, *dy;
  std::uint32_t *saved_perm, *saved_maximum;
  A* weights;
  index_t* lengths;
  std::uint32_t* saved_orders[csp_calls];  // of any index width
  T *mix_weights, *saved_states;
  T *q, *k, *v, *dattended, *random_rows;
  A* softmax_state;  // states of two splits
  index_t* attention_lengths;
  T *y, *dx;
  std::uint32_t *perm, *maximum;
  std::uint32_t* new_orders[csp_calls];  // one buffer for all calls, or the saved orders
  A* dweights;
  T *dmix_weights, *new_states;
  T *attended, *dq, *dk, *dv, *drandom_rows;
  A* merged_state;
  bool with_lengths;
  std::size_t input_bytes = 0, output_bytes = 0;

  operands(extents3 shape, bool ragged, void* inputs, void* outputs)
      : e(shape), attention(shape), with_lengths(ragged) {
    auto const columns = static_cast<std::size_t>(e.batch * e.channels);
    auto const elements = static_cast<std::size_t>(e.size());
    take(x, inputs, input_bytes, elements);
    take(dy, inputs, input_bytes, elements);
    take(saved_perm, inputs, input_bytes, elements);
    take(saved_maximum, inputs, input_bytes, columns);
    take(weights, inputs, input_bytes, components);
    take(lengths, inputs, input_bytes, static_cast<std::size_t>(e.batch));
    for (auto& saved : saved_orders) take(saved, inputs, input_bytes, elements);
    auto const mixing = static_cast<std::size_t>(factors * links * e.batch * e.length);
    take(mix_weights, inputs, input_bytes, mixing);
    take(saved_states, inputs, input_bytes, static_cast<std::size_t>(factors - 1) * elements);
    auto const attention_size = static_cast<std::size_t>(attention.e.size()),
               random = static_cast<std::size_t>(attention.of_w().size()),
               state = static_cast<std::size_t>(attention.of_state().size());
    for (T** tensor : {&q, &k, &v, &dattended}) take(*tensor, inputs, input_bytes, attention_size);
    take(random_rows, inputs, input_bytes, random);
    take(softmax_state, inputs, input_bytes, 2 * state);
    take(attention_lengths, inputs, input_bytes, static_cast<std::size_t>(e.batch));
    take(y, outputs, output_bytes, elements);
    take(dx, outputs, output_bytes, elements);
    take(perm, outputs, output_bytes, elements);
    take(maximum, outputs, output_bytes, columns);
    take(new_orders[0], outputs, output_bytes, elements);
    std::fill(new_orders + 1, new_orders + csp_calls, new_orders[0]);
    take(dweights, outputs, output_bytes, components);
    take(dmix_weights, outputs, output_bytes, mixing);
    take(new_states, outputs, output_bytes, static_cast<std::size_t>(factors - 1) * elements);
    for (T** tensor : {&attended, &dq, &dk, &dv})
      take(*tensor, outputs, output_bytes, attention_size);
    take(drandom_rows, outputs, output_bytes, random);
    take(merged_state, outputs, output_bytes, state);
  }

  template <class E>
  ss::tensor3<E> tensor(E* data) const {
    return {data, e};
  }
  template <class E>
  ss::tensor3<E> row(E* data) const {
    return {data, {e.batch, 1, e.channels}};
  }
  ss::stack_extents of_mixing() const { return {factors, e.batch, e.length, links}; }
  ss::tensor_stack<T> mixing(T* data) const { return {data, of_mixing()}; }
  ss::tensor4<T> heads(T* data) const {
    return ss::split_heads(ss::tensor3<T>(data, attention.e), attention.heads);
  }
  ss::tensor1<index_t const> valid() const {
    return {with_lengths ? lengths : nullptr, with_lengths ? e.batch : 0};
  }
  ss::tensor1<index_t const> valid_in_attention() const {
    return {with_lengths ? attention_lengths : nullptr, with_lengths ? e.batch : 0};
  }

 private:
  template <class Element>
  static void take(Element*& pointer, void* block, std::size_t& used, std::size_t count) {
    pointer = reinterpret_cast<Element*>(static_cast<unsigned char*>(block) + used);
    used += (count * sizeof(Element) + 255) / 256 * 256;
  }
};
template <class T>
operands<T> sizes_of(extents3 e) {
  static unsigned char no_memory[1];
  return {e, false, no_memory, no_memory};
}

}  // namespace support
