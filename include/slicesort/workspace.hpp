// SPDX-License-Identifier: Apache-2.0
/// Scratch memory of a call, with a fixed size or growing on demand.
#pragma once

#include <slicesort/view.hpp>

#include <cstddef>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// Scratch memory of at least `workspace_bytes` bytes, with any alignment and contents. It must not
/// overlap a tensor of the call, and can be reused once the call's work is done. `{}` suffices if
/// the size is 0. Containers such as `std::vector<std::byte>` convert. A `scratch` converts too,
/// and grows if a call needs more.
struct workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
  /// Enlarges the memory of `owner` to `bytes` and returns it; null if the size is fixed. This is a
  /// function pointer, so translation units built with other flags run the owner's code.
  workspace (*grow)(void* owner, std::size_t bytes) = nullptr;
  void* owner = nullptr;

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

SLICESORT_OPERATORS_BEGIN

/// Workspace that grows, for forward and backward calls of any operators. `Container` has `data()`,
/// `size()` and `resize(n)`; for exec::cuda it must own device memory, such as
/// `thrust::device_vector<unsigned char>`. A call enlarges it after the call's checks. Calls that
/// share it must not run at the same time. Freed memory may still be in use on a stream: a
/// container of device memory must wait, or free in stream order.
template <class Container>
class basic_scratch {
 public:
  basic_scratch() = default;
  explicit basic_scratch(Container memory) : memory_(std::move(memory)) {}

  operator workspace() & {
    workspace memory(memory_);
    memory.grow = &grow;
    memory.owner = this;
    return memory;
  }

 private:
  static workspace grow(void* owner, std::size_t bytes) {
    Container& memory = static_cast<basic_scratch*>(owner)->memory_;
    constexpr std::size_t element = sizeof(detail::element_of<Container>);
    memory.resize(0);  // avoids a copy of the old contents
    memory.resize(bytes / element + (bytes % element != 0));
    return memory;
  }

  Container memory_;
};

/// Uninitialized bytes on the heap; empty if the allocation fails. Not std::unique_ptr, because
/// `<memory>` adds 2,400 lines to every unit.
class host_bytes {
 public:
  host_bytes() = default;
  host_bytes(host_bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  host_bytes& operator=(host_bytes&& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_);
    return *this;
  }
  ~host_bytes() { delete[] data_; }

  void resize(std::size_t size) {
    delete[] data_;
    data_ = size == 0 ? nullptr : new (std::nothrow) unsigned char[size];
    size_ = data_ == nullptr ? 0 : size;
  }
  unsigned char* data() { return data_; }
  std::size_t size() const { return size_; }

 private:
  unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Growing workspace on the heap, for `exec::host`:
/// `ss::scratch memory; op.forward(exec, x, y, memory);`
using scratch = basic_scratch<host_bytes>;

SLICESORT_OPERATORS_END
