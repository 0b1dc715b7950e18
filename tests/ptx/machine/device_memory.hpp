// SPDX-License-Identifier: Apache-2.0
// Registers host allocations as device memory. Kernels can access no other global memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ptx {

void register_memory(void const* data, std::size_t bytes);
// Returns false if `data` is not the beginning of a registered allocation.
bool unregister_memory(void const* data);
// True if the bytes lie in one registered allocation. Thread-safe.
bool is_device_memory(std::uint64_t address, std::size_t bytes);

struct allocation {
  std::uint64_t begin = 0, bytes = 0;

  bool contains(std::uint64_t address, std::size_t size) const {
    return address - begin <= bytes && size <= bytes - (address - begin);
  }
};

// A snapshot of the registered allocations, sorted by address: the memory that a launch may access.
class memory_map {
 public:
  memory_map();
  // Returns the allocation that contains the address; empty if there is none.
  allocation find(std::uint64_t address) const;

 private:
  std::shared_ptr<std::vector<allocation> const> allocations_;
};

}  // namespace ptx
