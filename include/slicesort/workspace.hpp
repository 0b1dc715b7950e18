// SPDX-License-Identifier: Apache-2.0
/// Scratch memory that the caller lends to one call.
#pragma once

#include <slicesort/view.hpp>

#include <cstddef>
#include <iterator>
#include <type_traits>

SLICESORT_TYPES_BEGIN

/// Scratch memory at any address, with any contents, of at least as many bytes as the operator's
/// `workspace_bytes` says, and apart from the call's tensors. When the call's work is done it may
/// serve the next call. `{}` will do when that size is 0. A container converts: pass the
/// `std::vector<std::byte>` itself.
struct workspace {
  void* data = nullptr;
  std::size_t bytes = 0;

  SLICESORT_ABI_TAG constexpr workspace() = default;
  SLICESORT_ABI_TAG constexpr workspace(void* address, std::size_t size)
      : data(address), bytes(size) {}
  template <class Container, class Element = detail::element_of<Container>>
  SLICESORT_ABI_TAG constexpr workspace(Container& container)
      : data(const_cast<std::remove_const_t<Element>*>(detail::data_of(container))),
        bytes(std::size(container) * sizeof(Element)) {
    static_assert(!std::is_const_v<Element>,
                  "slicesort: a workspace is written to: its container must not be const.");
  }
};

SLICESORT_TYPES_END
