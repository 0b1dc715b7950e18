// SPDX-License-Identifier: Apache-2.0
// Operands of the named calls. One memory block holds all inputs, another all outputs.
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

inline constexpr index_t taps = 4;                // of short_convolution
inline constexpr index_t decay_states = 3;        // of decaying_sum
inline constexpr index_t components = 3;          // of multi_permutation
inline constexpr int csp_calls = 4;               // each has its own saved order
inline constexpr index_t factors = 3, links = 3;  // of sparse_mix

// Shapes of attention: batch and channels of the other calls, but at most a few tiles of rows, to
// save time.
struct attention_extents {
  static constexpr index_t max_rows = 300, random_features = 5;

  extents3 e;  // [batch, length, heads * channels]
  index_t heads;

  explicit attention_extents(extents3 call)
      : e{call.batch, std::min(call.length, max_rows), call.channels},
        heads(call.channels % 3 == 0 ? 3 : 1) {}
  ss::extents4 heads_extents() const { return {e.batch, heads, e.length, e.channels / heads}; }
  ss::extents4 state_extents() const { return {e.batch, heads, e.length, 2}; }
  extents3 w_extents() const { return {heads, random_features, e.channels / heads}; }
};

template <class T>
struct operands {
  using A = ss::detail::accumulator_t<T>;

  extents3 e;
  attention_extents attention;
  T *x, *dy;
  std::uint32_t *saved_perm, *saved_max_indices;
  A* weights;
  index_t* lengths;
  std::uint32_t* saved_orders[csp_calls];  // of any index width
  T *mix_weights, *saved_states, *filters, *decays;
  T *q, *k, *v, *dattention_output, *random_rows;
  A* softmax_state;  // states of two splits
  index_t* attention_lengths;
  T *y, *dx;
  std::uint32_t *perm, *max_indices;
  std::uint32_t* new_orders[csp_calls];  // one buffer for all calls, or the saved orders
  A* dweights;
  T *dmix_weights, *new_states, *dfilters, *ddecays;
  T *attention_output, *dq, *dk, *dv, *drandom_rows;
  A* merged_state;
  bool with_lengths;
  std::size_t input_bytes = 0, output_bytes = 0;

  operands(extents3 shape, bool has_lengths, void* inputs, void* outputs)
      : e(shape), attention(shape), with_lengths(has_lengths) {
    auto const columns = static_cast<std::size_t>(e.batch * e.channels);
    auto const elements = static_cast<std::size_t>(e.size());
    allocate(x, inputs, input_bytes, elements);
    allocate(dy, inputs, input_bytes, elements);
    allocate(saved_perm, inputs, input_bytes, elements);
    allocate(saved_max_indices, inputs, input_bytes, columns);
    allocate(weights, inputs, input_bytes, components);
    allocate(lengths, inputs, input_bytes, static_cast<std::size_t>(e.batch));
    for (auto& saved : saved_orders) allocate(saved, inputs, input_bytes, elements);
    auto const mixing_size = static_cast<std::size_t>(factors * links * e.batch * e.length);
    allocate(mix_weights, inputs, input_bytes, mixing_size);
    allocate(saved_states, inputs, input_bytes, static_cast<std::size_t>(factors - 1) * elements);
    auto const attention_size = static_cast<std::size_t>(attention.e.size()),
               random_size = static_cast<std::size_t>(attention.w_extents().size()),
               state_size = static_cast<std::size_t>(attention.state_extents().size());
    for (T** tensor : {&q, &k, &v, &dattention_output})
      allocate(*tensor, inputs, input_bytes, attention_size);
    allocate(random_rows, inputs, input_bytes, random_size);
    allocate(filters, inputs, input_bytes, taps);
    auto const numbers_size = static_cast<std::size_t>(decay_states * e.channels);
    allocate(decays, inputs, input_bytes, numbers_size);
    allocate(softmax_state, inputs, input_bytes, 2 * state_size);
    allocate(attention_lengths, inputs, input_bytes, static_cast<std::size_t>(e.batch));
    allocate(y, outputs, output_bytes, elements);
    allocate(dx, outputs, output_bytes, elements);
    allocate(perm, outputs, output_bytes, elements);
    allocate(max_indices, outputs, output_bytes, columns);
    allocate(new_orders[0], outputs, output_bytes, elements);
    std::fill(new_orders + 1, new_orders + csp_calls, new_orders[0]);
    allocate(dweights, outputs, output_bytes, components);
    allocate(dmix_weights, outputs, output_bytes, mixing_size);
    allocate(new_states, outputs, output_bytes, static_cast<std::size_t>(factors - 1) * elements);
    for (T** tensor : {&attention_output, &dq, &dk, &dv})
      allocate(*tensor, outputs, output_bytes, attention_size);
    allocate(drandom_rows, outputs, output_bytes, random_size);
    allocate(merged_state, outputs, output_bytes, state_size);
    allocate(dfilters, outputs, output_bytes, taps);
    allocate(ddecays, outputs, output_bytes, numbers_size);
  }

  template <class E>
  ss::tensor3<E> view(E* data) const {
    return {data, e};
  }
  template <class E>
  ss::tensor3<E> row_view(E* data) const {
    return {data, {e.batch, 1, e.channels}};
  }
  ss::tensor3<T> filter_view(T* data) const { return {data, {1, taps, 1}}; }
  ss::tensor4<T> decay_view(T* data) const { return {data, {1, decay_states, 1, e.channels}}; }
  ss::stack_extents mixing_extents() const { return {factors, e.batch, e.length, links}; }
  ss::tensor_stack<T> mixing_view(T* data) const { return {data, mixing_extents()}; }
  ss::tensor4<T> heads_view(T* data) const {
    return ss::split_heads(ss::tensor3<T>(data, attention.e), attention.heads);
  }
  ss::tensor1<index_t const> valid_lengths() const {
    return {with_lengths ? lengths : nullptr, with_lengths ? e.batch : 0};
  }
  ss::tensor1<index_t const> attention_valid_lengths() const {
    return {with_lengths ? attention_lengths : nullptr, with_lengths ? e.batch : 0};
  }

 private:
  template <class Element>
  static void allocate(Element*& pointer, void* block, std::size_t& used, std::size_t count) {
    pointer = reinterpret_cast<Element*>(static_cast<unsigned char*>(block) + used);
    used += (count * sizeof(Element) + 255) / 256 * 256;
  }
};
template <class T>
operands<T> operand_sizes(extents3 e) {
  static unsigned char no_memory[1];
  return {e, false, no_memory, no_memory};
}

}  // namespace support
