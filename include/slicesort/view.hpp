// SPDX-License-Identifier: Apache-2.0
/// `view(container, extents)`: the elements of a container as a contiguous tensor. Containers are
/// whatever `std::data` and `std::size` accept: `std::vector`, `std::array`, C arrays, spans,
/// `thrust::device_vector`, ... A pointer class with `get()`, such as Thrust's, is unwrapped. The
/// memory itself is never touched, so it may be a device's.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

template <class T>
constexpr T* raw_pointer(T* pointer) {
  return pointer;
}
template <class Pointer>
constexpr auto raw_pointer(Pointer const& pointer) -> decltype(&*pointer.get()) {
  return pointer.get();
}

template <class Container>
constexpr auto data_of(Container& container) -> decltype(raw_pointer(std::data(container))) {
  return raw_pointer(std::data(container));
}

// The type of a container's elements, const if they cannot be written through it.
template <class Container, class = decltype(std::size(std::declval<Container&>()))>
using element_of = std::remove_pointer_t<decltype(data_of(std::declval<Container&>()))>;

template <class Container>
constexpr void require_lasting() {
  static_assert(std::is_lvalue_reference_v<Container>,
                "slicesort: a view does not keep its container alive: give the container a name "
                "before you view it.");
}

// Fails unless the container holds what the extents say. Negative extents pass here, because the
// operator's own error names the axis.
template <std::size_t Rank>
void require_size(std::size_t is, index_t const (&extents)[Rank]) {
  constexpr index_t largest = std::numeric_limits<index_t>::max();
  index_t want = 1;
  for (index_t extent : extents) {
    if (extent < 0) return;
    want = extent != 0 && want > largest / extent ? largest : want * extent;
  }
  if (is == static_cast<std::size_t>(want)) return;
  char shape[24 * Rank + 1] = {};
  int used = 0;
  for (index_t extent : extents)
    used += std::snprintf(shape + used, sizeof shape - static_cast<std::size_t>(used), "%s%lld",
                          used == 0 ? "" : ", ", static_cast<long long>(extent));
  status wrong;
  wrong.kind = error_kind::argument;
  std::snprintf(wrong.message, sizeof wrong.message,
                "view: container.size is %zu, must be %lld (extents [%s])", is,
                static_cast<long long>(want), shape);
  enforce(wrong);
}

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// The elements of `container` as a contiguous `[batch, length, channels]` tensor. A container that
/// does not hold `extents.size()` elements is an `invalid_argument`. The view does not own them: a
/// temporary container does not compile.
template <class Container>
tensor3<detail::element_of<Container>> view(Container&& container, extents3 extents) {
  detail::require_lasting<Container>();
  detail::require_size(std::size(container), {extents.batch, extents.length, extents.channels});
  return {detail::data_of(container), extents};
}

/// The elements of `container` as a contiguous `[batch, heads, length, channels]` tensor.
template <class Container>
tensor4<detail::element_of<Container>> view(Container&& container, extents4 extents) {
  detail::require_lasting<Container>();
  detail::require_size(std::size(container),
                       {extents.batch, extents.heads, extents.length, extents.channels});
  return {detail::data_of(container), extents};
}

/// The elements of `container` as a contiguous stack `[outer, batch, length, channels]`. Four
/// numbers in braces are attention's: name the type, `stack_extents{...}`.
template <class Container, class Extents,
          std::enable_if_t<std::is_same_v<Extents, stack_extents>, int> = 0>
tensor_stack<detail::element_of<Container>> view(Container&& container, Extents extents) {
  detail::require_lasting<Container>();
  detail::require_size(std::size(container),
                       {extents.outer, extents.batch, extents.length, extents.channels});
  return {detail::data_of(container), extents};
}

/// All elements of `container` along one axis: lengths, or weights.
template <class Container>
tensor1<detail::element_of<Container>> view(Container&& container) {
  detail::require_lasting<Container>();
  return {detail::data_of(container), static_cast<index_t>(std::size(container))};
}

SLICESORT_OPERATORS_END
