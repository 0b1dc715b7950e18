// SPDX-License-Identifier: Apache-2.0
// Calls of operators with a 16-bit type of others and with our own of the same format.
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

// What a sort with a gradient that accumulates, an exchange and attention make of the same bits as
// elements T.
template <class T>
struct half_results {
  static constexpr std::size_t count = 3 * 40 * 8;
  static constexpr slicesort::extents3 shape{3, 40, 8};
  std::vector<T> x, dy, sorted, dx, exchanged, attended;

  half_results()
      : x(count), dy(count), sorted(count), dx(count), exchanged(count), attended(count) {
    namespace ss = slicesort;
    std::uint32_t state = 1;
    auto const next = [&state](unsigned most) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % most;
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
    auto const from = ss::view(x, shape);
    auto const state_of_sort = ss::view(perm, shape);
    auto const row = ss::view(maximum, {3, 1, 8});
    ss::extents4 const heads{1, 3, 40, 8};
    ss::scratch memory;
    sort.forward(exec, from, ss::view(sorted, shape), state_of_sort, memory);
    sort.backward(exec, ss::view(dy, shape), state_of_sort, ss::view(dx, shape), memory,
                  {ss::grad_mode::accumulate});
    ss::max_exchange{}.forward(exec, from, ss::view(exchanged, shape), row);
    auto const values = ss::view(dy, heads);
    attention.forward(exec, {values, values, values}, ss::view(attended, heads), ss::no_saved,
                      memory);
  }
};

// Empty, or what differs.
template <class Theirs, class Ours>
std::string same_bits() {
  static_assert(sizeof(Theirs) == sizeof(Ours));
  half_results<Theirs> const theirs;
  half_results<Ours> const ours;
  auto const same = [](std::vector<Theirs> const& a, std::vector<Ours> const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(Ours)) == 0;
  };
  auto const nothing = [](std::vector<Ours> const& a, std::vector<Ours> const& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(Ours)) == 0;
  };
  std::string wrong;
  if (!same(theirs.x, ours.x)) wrong += " x";
  if (!same(theirs.sorted, ours.sorted) || nothing(ours.sorted, ours.x)) wrong += " sorted";
  if (!same(theirs.dx, ours.dx) || nothing(ours.dx, ours.x)) wrong += " dx";
  if (!same(theirs.exchanged, ours.exchanged) || nothing(ours.exchanged, ours.x))
    wrong += " exchanged";
  if (!same(theirs.attended, ours.attended) || nothing(ours.attended, ours.x)) wrong += " attended";
  return wrong;
}

}  // namespace support
