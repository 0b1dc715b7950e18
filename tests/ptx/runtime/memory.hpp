// SPDX-License-Identifier: Apache-2.0
// Allocates host memory and registers it with the machine as device memory. Freed blocks are reused
// late, which reveals a use after free.
#pragma once

#include <cstddef>

namespace ptx::runtime {

enum class memory_kind {
  device,
  pinned,      // host memory that kernels can access
  freed,       // recently freed
  straddling,  // overlaps the end or the beginning of an allocation
  pageable,    // other host memory
};

// Size of the device memory.
inline constexpr std::size_t device_bytes = std::size_t{16} << 30;
std::size_t free_device_bytes();

// Returns null if memory is exhausted. Fills device memory with garbage.
void* allocate(std::size_t bytes, memory_kind kind);
// Returns false if `data` is not the beginning of an allocation of that kind.
bool release(void* data, memory_kind kind);

// Returns the kind of `bytes` bytes, at least one, at `data`.
memory_kind kind_of(void const* data, std::size_t bytes);

}  // namespace ptx::runtime
