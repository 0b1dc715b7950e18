// SPDX-License-Identifier: Apache-2.0
// Which of the host's memory is the device's: global memory of a kernel is allocations that were
// registered here, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ptx {

void register_memory(void const* data, std::size_t bytes);
// False when `data` is not the beginning of an allocation.
bool forget_memory(void const* data);
// Whether all of it lies in one allocation. Thread-safe.
bool is_device_memory(std::uint64_t address, std::size_t bytes);

struct allocation {
  std::uint64_t begin = 0, bytes = 0;

  bool holds(std::uint64_t address, std::size_t size) const {
    return address - begin <= bytes && size <= bytes - (address - begin);
  }
};

// The allocations that there are now, by address: what a launch that begins now may touch.
class memory_map {
 public:
  memory_map();
  // Empty where the address lies in none.
  allocation find(std::uint64_t address) const;

 private:
  std::shared_ptr<std::vector<allocation> const> all_;
};

}  // namespace ptx
