// SPDX-License-Identifier: Apache-2.0
// Where the operands of the numbered calls lie: all inputs in one block, all outputs in another.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

namespace support {

namespace ss = slicesort;
using ss::extents3;
using ss::index_t;

inline constexpr index_t terms = 3;               // of multi_permutation
inline constexpr int csps = 4;                    // each with a saved order of its own
inline constexpr index_t factors = 3, links = 3;  // of sparse_mix

template <class T>
struct operands {
  using A = ss::detail::accumulator_t<T>;

  extents3 e;
  T *x, *dy;
  std::uint32_t *saved_perm, *saved_maximum;
  A* weights;
  index_t* lengths;
  std::uint32_t* saved_orders[csps];  // of any width
  T *mix_weights, *saved_states;
  T *y, *dx;
  std::uint32_t *perm, *maximum, *new_order;
  A* dweights;
  T *dmix_weights, *new_states;
  std::size_t input_bytes = 0, output_bytes = 0;

  operands(extents3 shape, void* inputs, void* outputs) : e(shape) {
    auto const columns = static_cast<std::size_t>(e.batch * e.channels);
    auto const elements = static_cast<std::size_t>(e.size());
    take(x, inputs, input_bytes, elements);
    take(dy, inputs, input_bytes, elements);
    take(saved_perm, inputs, input_bytes, elements);
    take(saved_maximum, inputs, input_bytes, columns);
    take(weights, inputs, input_bytes, terms);
    take(lengths, inputs, input_bytes, static_cast<std::size_t>(e.batch));
    for (auto& saved : saved_orders) take(saved, inputs, input_bytes, elements);
    auto const mixing = static_cast<std::size_t>(factors * links * e.batch * e.length);
    take(mix_weights, inputs, input_bytes, mixing);
    take(saved_states, inputs, input_bytes, static_cast<std::size_t>(factors - 1) * elements);
    take(y, outputs, output_bytes, elements);
    take(dx, outputs, output_bytes, elements);
    take(perm, outputs, output_bytes, elements);
    take(maximum, outputs, output_bytes, columns);
    take(new_order, outputs, output_bytes, elements);
    take(dweights, outputs, output_bytes, terms);
    take(dmix_weights, outputs, output_bytes, mixing);
    take(new_states, outputs, output_bytes, static_cast<std::size_t>(factors - 1) * elements);
  }
  ss::tensor1<index_t const> lengths_view(bool wanted) const {
    return wanted ? ss::tensor1<index_t const>(lengths, e.batch) : ss::tensor1<index_t const>();
  }

 private:
  template <class Element>
  static void take(Element*& place, void* block, std::size_t& used, std::size_t count) {
    place = reinterpret_cast<Element*>(static_cast<unsigned char*>(block) + used);
    used += (count * sizeof(Element) + 255) / 256 * 256;
  }
};
template <class T>
operands<T> sizes_of(extents3 e) {
  static unsigned char nowhere[1];
  return {e, nowhere, nowhere};
}

}  // namespace support
