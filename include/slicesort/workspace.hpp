// SPDX-License-Identifier: Apache-2.0
/// Scratch memory that the caller lends to one call.
#pragma once

#include <cstddef>
#include <utility>

namespace slicesort {
inline namespace v0 {

/// Scratch memory at any address, with any contents, of at least as many bytes as the operator's
/// `workspace_bytes` says. When the call's work is done it may serve the next call. `{}` will do
/// when that size is 0. A container with `data()` and `size()`, such as `std::vector<std::byte>`,
/// converts.
struct workspace {
  void* data = nullptr;
  std::size_t bytes = 0;

  constexpr workspace() = default;
  constexpr workspace(void* address, std::size_t size) : data(address), bytes(size) {}
  template <class Buffer, class = decltype(void(std::declval<Buffer&>().data()),
                                           void(std::declval<Buffer&>().size()))>
  constexpr workspace(Buffer& buffer)
      : data(buffer.data()),
        bytes(static_cast<std::size_t>(buffer.size()) * sizeof(*buffer.data())) {}
};

}  // namespace v0
}  // namespace slicesort
