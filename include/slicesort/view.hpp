// SPDX-License-Identifier: Apache-2.0
/// `view(container, extents)`: the elements of a container as a contiguous tensor. Containers are
/// types that `std::data` and `std::size` accept: `std::vector`, `std::array`, C arrays, spans,
/// `thrust::device_vector`, ... Pointer classes with `get()`, such as Thrust's, are unwrapped. The
/// memory is not accessed, so it may be device memory.
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

// Element type of a container; const if the container is const.
template <class Container, class = decltype(std::size(std::declval<Container&>()))>
using element_of = std::remove_pointer_t<decltype(data_of(std::declval<Container&>()))>;

template <class Container>
constexpr void require_lvalue() {
  static_assert(std::is_lvalue_reference_v<Container>,
                "slicesort: a view does not keep its container alive: give the container a name "
                "before you view it.");
}

// Fails unless the container has as many elements as the extents. Accepts negative extents: the
// operator reports them with the name of the axis.
template <std::size_t Rank>
void require_size(std::size_t size, index_t const (&extents)[Rank]) {
  constexpr index_t max_index = std::numeric_limits<index_t>::max();
  index_t expected = 1;
  for (index_t extent : extents) {
    if (extent < 0) return;
    expected = extent != 0 && expected > max_index / extent ? max_index : expected * extent;
  }
  if (size == static_cast<std::size_t>(expected)) return;
  char shape[24 * Rank + 1] = {};
  int used = 0;
  for (index_t extent : extents)
    used += std::snprintf(shape + used, sizeof shape - static_cast<std::size_t>(used), "%s%lld",
                          used == 0 ? "" : ", ", static_cast<long long>(extent));
  status error;
  error.kind = error_kind::argument;
  std::snprintf(error.message, sizeof error.message,
                "view: container.size is %zu, must be %lld (extents [%s])", size,
                static_cast<long long>(expected), shape);
  enforce(error);
}

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// The elements of `container` as a contiguous `[batch, length, channels]` tensor of its element
/// type. A temporary container does not compile, because the view does not own it.
///
/// - **Errors** `invalid_argument` if the container does not hold `extents.size()` elements.
template <class Container>
tensor3<detail::element_of<Container>> view(Container&& container, extents3 extents) {
  detail::require_lvalue<Container>();
  detail::require_size(std::size(container), {extents.batch, extents.length, extents.channels});
  return {detail::data_of(container), extents};
}

/// The elements of `container` as a contiguous `[batch, heads, length, channels]` tensor.
template <class Container>
tensor4<detail::element_of<Container>> view(Container&& container, extents4 extents) {
  detail::require_lvalue<Container>();
  detail::require_size(std::size(container),
                       {extents.batch, extents.heads, extents.length, extents.channels});
  return {detail::data_of(container), extents};
}

/// The elements of `container` as a contiguous stack `[outer, batch, length, channels]`. Write
/// `stack_extents{...}` explicitly: four integers in braces are the extents of attention.
template <class Container, class Extents,
          std::enable_if_t<std::is_same_v<Extents, stack_extents>, int> = 0>
tensor_stack<detail::element_of<Container>> view(Container&& container, Extents extents) {
  detail::require_lvalue<Container>();
  detail::require_size(std::size(container),
                       {extents.outer, extents.batch, extents.length, extents.channels});
  return {detail::data_of(container), extents};
}

/// All elements of `container` along one axis, such as lengths or weights.
template <class Container>
tensor1<detail::element_of<Container>> view(Container&& container) {
  detail::require_lvalue<Container>();
  return {detail::data_of(container), static_cast<index_t>(std::size(container))};
}

SLICESORT_OPERATORS_END
