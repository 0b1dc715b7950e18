// SPDX-License-Identifier: Apache-2.0
// Visits the fields of any aggregate. The number of initializers that it accepts is the number of
// fields, which a structured binding names.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace support {

// Converts to any type; the conversion is never called.
struct any_field {
  template <class T>
  operator T() const;
};
template <std::size_t>
using any_field_at = any_field;

template <class T, class Indices, class = void>
inline constexpr bool is_brace_constructible = false;
template <class T, std::size_t... I>
inline constexpr bool is_brace_constructible<T, std::index_sequence<I...>,
                                             std::void_t<decltype(T{any_field_at<I>{}...})>> = true;

inline constexpr std::size_t max_fields = 14;

template <class T, std::size_t Max = max_fields + 1>
constexpr std::size_t count_fields() {
  if constexpr (Max == 0 || is_brace_constructible<T, std::make_index_sequence<Max>>)
    return Max;
  else
    return count_fields<T, Max - 1>();
}

// True if T is a struct with fields to visit.
template <class T>
inline constexpr bool has_fields =
    std::is_class_v<T>&& std::is_aggregate_v<T> && !std::is_empty_v<T>;

// Calls visit(field...).
template <class T, class F>
void with_fields(T& aggregate, F const& visit) {
  constexpr std::size_t fields = count_fields<T>();
  static_assert(1 <= fields && fields <= max_fields, "add a branch below for every field");
  if constexpr (fields == 1) {
    auto& [a] = aggregate;
    visit(a);
  } else if constexpr (fields == 2) {
    auto& [a, b] = aggregate;
    visit(a, b);
  } else if constexpr (fields == 3) {
    auto& [a, b, c] = aggregate;
    visit(a, b, c);
  } else if constexpr (fields == 4) {
    auto& [a, b, c, d] = aggregate;
    visit(a, b, c, d);
  } else if constexpr (fields == 5) {
    auto& [a, b, c, d, e] = aggregate;
    visit(a, b, c, d, e);
  } else if constexpr (fields == 6) {
    auto& [a, b, c, d, e, f] = aggregate;
    visit(a, b, c, d, e, f);
  } else if constexpr (fields == 7) {
    auto& [a, b, c, d, e, f, g] = aggregate;
    visit(a, b, c, d, e, f, g);
  } else if constexpr (fields == 8) {
    auto& [a, b, c, d, e, f, g, h] = aggregate;
    visit(a, b, c, d, e, f, g, h);
  } else if constexpr (fields == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = aggregate;
    visit(a, b, c, d, e, f, g, h, i);
  } else if constexpr (fields == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = aggregate;
    visit(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (fields == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = aggregate;
    visit(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (fields == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = aggregate;
    visit(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (fields == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = aggregate;
    visit(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (fields == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = aggregate;
    visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
}

}  // namespace support
