// SPDX-License-Identifier: Apache-2.0
// The fields of an aggregate that says nothing about itself: counted by how many initializers it
// takes, named by a structured binding.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace support {

// Initialises a field of any type; never called.
struct any_field {
  template <class T>
  operator T() const;
};
template <std::size_t>
using any_field_at = any_field;

template <class T, class Indices, class = void>
inline constexpr bool takes_fields = false;
template <class T, std::size_t... I>
inline constexpr bool
    takes_fields<T, std::index_sequence<I...>, std::void_t<decltype(T{any_field_at<I>{}...})>> =
        true;

inline constexpr std::size_t most_fields = 12;

template <class T, std::size_t Most = most_fields + 1>
constexpr std::size_t count_fields() {
  if constexpr (Most == 0 || takes_fields<T, std::make_index_sequence<Most>>)
    return Most;
  else
    return count_fields<T, Most - 1>();
}

// Whether T is a struct to be looked into.
template <class T>
inline constexpr bool has_fields =
    std::is_class_v<T>&& std::is_aggregate_v<T> && !std::is_empty_v<T>;

// use(field...)
template <class T, class F>
void with_fields(T& whole, F const& use) {
  constexpr std::size_t fields = count_fields<T>();
  static_assert(1 <= fields && fields <= most_fields, "one more line below for every field");
  if constexpr (fields == 1) {
    auto& [a] = whole;
    use(a);
  } else if constexpr (fields == 2) {
    auto& [a, b] = whole;
    use(a, b);
  } else if constexpr (fields == 3) {
    auto& [a, b, c] = whole;
    use(a, b, c);
  } else if constexpr (fields == 4) {
    auto& [a, b, c, d] = whole;
    use(a, b, c, d);
  } else if constexpr (fields == 5) {
    auto& [a, b, c, d, e] = whole;
    use(a, b, c, d, e);
  } else if constexpr (fields == 6) {
    auto& [a, b, c, d, e, f] = whole;
    use(a, b, c, d, e, f);
  } else if constexpr (fields == 7) {
    auto& [a, b, c, d, e, f, g] = whole;
    use(a, b, c, d, e, f, g);
  } else if constexpr (fields == 8) {
    auto& [a, b, c, d, e, f, g, h] = whole;
    use(a, b, c, d, e, f, g, h);
  } else if constexpr (fields == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = whole;
    use(a, b, c, d, e, f, g, h, i);
  } else if constexpr (fields == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = whole;
    use(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (fields == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = whole;
    use(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (fields == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = whole;
    use(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

}  // namespace support
