// SPDX-License-Identifier: Apache-2.0
/// Scratch memory of a call: of a fixed size, or of the size that the calls turn out to need.
#pragma once

#include <slicesort/view.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// Scratch memory at any address, with any contents, of at least as many bytes as the operator's
/// `workspace_bytes` says, and apart from the call's tensors. When the call's work is done it may
/// serve the next call. `{}` will do when that size is 0. A container converts: pass the
/// `std::vector<std::byte>` itself. A `scratch` converts too, and grows where a call needs more.
struct workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
  /// Enlarges the memory of `owner` to `bytes`, and returns all of it. Null: the size is fixed. The
  /// function belongs to the unit that made the workspace, so that a unit that was compiled
  /// differently enlarges the memory with the owner's own code.
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

/// Memory of a container that calls enlarge: one object, of yours, for calls of any operator in
/// both directions. `Container` has `data()`, `size()` and `resize(n)`; for exec::cuda its memory
/// is the device's, such as `thrust::device_vector<unsigned char>`. It grows to what the largest
/// call needed, when the checks of that call are done. Calls that share it may not run at the same
/// time; memory that is given up may still be in use on a stream, so that a container of device
/// memory must wait for it or free it in the stream's order.
template <class Container>
class basic_scratch {
 public:
  basic_scratch() = default;
  explicit basic_scratch(Container memory) : memory_(std::move(memory)) {}

  operator workspace() & {
    workspace w(memory_);
    w.grow = &grow;
    w.owner = this;
    return w;
  }

 private:
  static workspace grow(void* owner, std::size_t bytes) {
    Container& memory = static_cast<basic_scratch*>(owner)->memory_;
    constexpr std::size_t element = sizeof(detail::element_of<Container>);
    memory.resize(0);  // the contents mean nothing: no container copies them
    memory.resize(bytes / element + (bytes % element != 0));
    return memory;
  }

  Container memory_;
};

/// Uninitialized bytes of the heap. Where there are not so many, there are none.
class host_bytes {
 public:
  void resize(std::size_t size) {
    memory_.reset(size == 0 ? nullptr : new (std::nothrow) unsigned char[size]);
    size_ = size;
  }
  unsigned char* data() { return memory_.get(); }
  std::size_t size() const { return memory_ ? size_ : 0; }

 private:
  std::unique_ptr<unsigned char[]> memory_;
  std::size_t size_ = 0;
};

/// `ss::scratch memory; op.forward(exec, x, y, memory);`
using scratch = basic_scratch<host_bytes>;

SLICESORT_OPERATORS_END
