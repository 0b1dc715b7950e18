// SPDX-License-Identifier: Apache-2.0
// Compares operators on a foreign 16-bit type and on the library's type of the same format.
#pragma once

#include <slicesort/half_types.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace support {

// Results of a sort with an accumulated gradient, a max_exchange and attention, on the same bits as
// elements T.
template <class T>
struct half_results {
  static constexpr std::size_t count = 3 * 40 * 8;
  static constexpr slicesort::extents3 shape{3, 40, 8};
  std::vector<T> x, dy, sorted, dx, exchanged, attention_output;

  half_results()
      : x(count), dy(count), sorted(count), dx(count), exchanged(count), attention_output(count) {
    namespace ss = slicesort;
    std::uint32_t state = 1;
    auto const next = [&state](unsigned bound) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % bound;
    };
    float const specials[] = {-0.0f, 0.0f, 1e-7f, -3e-6f, 65504.0f};
    for (T& value : x)
      value = static_cast<T>(next(9) == 0 ? specials[next(5)]
                                          : static_cast<float>(next(4001)) / 512.0f - 4.0f);
    for (T& value : dy) value = static_cast<T>(static_cast<float>(next(4001)) / 1024.0f - 2.0f);
    dx = x;

    ss::exec::host const exec;
    ss::slicing_sort<> const sort;
    ss::softmax_attention<> const attention;
    std::vector<std::uint16_t> perm(count), maximum(24);
    auto const input = ss::view(x, shape);
    auto const state_of_sort = ss::view(perm, shape);
    auto const row = ss::view(maximum, {3, 1, 8});
    ss::extents4 const heads{1, 3, 40, 8};
    ss::scratch memory;
    sort.forward(exec, input, ss::view(sorted, shape), state_of_sort, memory);
    sort.backward(exec, ss::view(dy, shape), state_of_sort, ss::view(dx, shape), memory,
                  {ss::grad_mode::accumulate});
    ss::max_exchange{}.forward(exec, input, ss::view(exchanged, shape), row);
    auto const values = ss::view(dy, heads);
    attention.forward(exec, {values, values, values}, ss::view(attention_output, heads),
                      ss::no_saved, memory);
  }
};

// Names of the results that differ.
template <class Foreign, class Library>
std::string same_bits() {
  static_assert(sizeof(Foreign) == sizeof(Library));
  half_results<Foreign> const foreign;
  half_results<Library> const library;
  auto const same = [](std::vector<Foreign> const& a, std::vector<Library> const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(Library)) == 0;
  };
  auto const unchanged = [](std::vector<Library> const& a, std::vector<Library> const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(Library)) == 0;
  };
  std::string wrong;
  if (!same(foreign.x, library.x)) wrong += " x";
  if (!same(foreign.sorted, library.sorted) || unchanged(library.sorted, library.x))
    wrong += " sorted";
  if (!same(foreign.dx, library.dx) || unchanged(library.dx, library.x)) wrong += " dx";
  if (!same(foreign.exchanged, library.exchanged) || unchanged(library.exchanged, library.x))
    wrong += " exchanged";
  if (!same(foreign.attention_output, library.attention_output) ||
      unchanged(library.attention_output, library.x))
    wrong += " attended";
  return wrong;
}

}  // namespace support
