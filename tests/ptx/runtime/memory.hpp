// SPDX-License-Identifier: Apache-2.0
// The memory that a program got from the runtime. It is the host's own, registered with the machine
// as the device's; a freed block is kept from reuse for a while, so that whoever uses it still is
// found.
#pragma once

#include <cstddef>

namespace ptx::runtime {

enum class memory_kind {
  device,
  pinned,    // the host's, and a kernel may use it
  freed,     // a block that was freed not long ago
  broken,    // partly in an allocation, or beyond its end
  pageable,  // none of ours: the host's
};

// What cudaMemGetInfo says that the device has.
inline constexpr std::size_t device_bytes = std::size_t{16} << 30;
std::size_t free_device_bytes();

// Null when there is no room. Device memory is filled with garbage.
void* allocate(std::size_t bytes, memory_kind kind);
// False when it is not the beginning of an allocation of that kind.
bool release(void* data, memory_kind kind);

// Of `bytes` at `data`, at least one.
memory_kind kind_of(void const* data, std::size_t bytes);

}  // namespace ptx::runtime
