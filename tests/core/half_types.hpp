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

// Results of a sort with an accumulated gradient, of max_exchange and of attention, computed with
// elements T from the same bits.
template <class T>
struct half_results {
  static constexpr std::size_t count = 3 * 40 * 8;
  static constexpr slicesort::extents3 shape{3, 40, 8};
  std::vector<T> x, dy, sorted, dx, exchanged, attention_output;

  half_results()
      : x(count), dy(count), sorted(count), dx(count), exchanged(count), attention_output(count) {
    namespace ss = slicesort;
    std::uint32_t random_state = 1;
    auto const next_below = [&random_state](unsigned bound) {
      random_state = random_state * 1664525u + 1013904223u;
      return (random_state >> 8) % bound;
    };
    float const specials[] = {-0.0f, 0.0f, 1e-7f, -3e-6f, 65504.0f};
    for (T& value : x)
      value =
          static_cast<T>(next_below(9) == 0 ? specials[next_below(5)]
                                            : static_cast<float>(next_below(4001)) / 512.0f - 4.0f);
    for (T& value : dy)
      value = static_cast<T>(static_cast<float>(next_below(4001)) / 1024.0f - 2.0f);
    dx = x;

    ss::exec::host const exec;
    ss::slicing_sort<> const sort;
    ss::softmax_attention<> const attention;
    std::vector<std::uint16_t> perm(count), max_index_memory(24);
    auto const input = ss::view(x, shape);
    auto const saved = ss::view(perm, shape);
    auto const max_indices = ss::view(max_index_memory, {3, 1, 8});
    ss::extents4 const attention_shape{1, 3, 40, 8};
    ss::scratch scratch;
    sort.forward(exec, input, ss::view(sorted, shape), saved, scratch);
    sort.backward(exec, ss::view(dy, shape), saved, ss::view(dx, shape), scratch,
                  {ss::grad_mode::accumulate});
    ss::max_exchange{}.forward(exec, input, ss::view(exchanged, shape), max_indices);
    auto const qkv = ss::view(dy, attention_shape);
    attention.forward(exec, {qkv, qkv, qkv}, ss::view(attention_output, attention_shape),
                      ss::no_saved, scratch);
  }
};

// Returns the names of the results that differ, or that are equal to their input.
template <class Foreign, class Library>
std::string differing_results() {
  static_assert(sizeof(Foreign) == sizeof(Library));
  half_results<Foreign> const foreign;
  half_results<Library> const library;
  auto const is_same = [](std::vector<Foreign> const& a, std::vector<Library> const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(Library)) == 0;
  };
  auto const is_unchanged = [](std::vector<Library> const& a, std::vector<Library> const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(Library)) == 0;
  };
  std::string differing;
  if (!is_same(foreign.x, library.x)) differing += " x";
  if (!is_same(foreign.sorted, library.sorted) || is_unchanged(library.sorted, library.x))
    differing += " sorted";
  if (!is_same(foreign.dx, library.dx) || is_unchanged(library.dx, library.x)) differing += " dx";
  if (!is_same(foreign.exchanged, library.exchanged) || is_unchanged(library.exchanged, library.x))
    differing += " exchanged";
  if (!is_same(foreign.attention_output, library.attention_output) ||
      is_unchanged(library.attention_output, library.x))
    differing += " attended";
  return differing;
}

}  // namespace support
