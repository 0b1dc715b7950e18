// SPDX-License-Identifier: Apache-2.0
// Which of the host's memory is the device's: global memory of a kernel is allocations that were
// registered here, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptx {

void register_memory(void const* data, std::size_t bytes);
// False when `data` is not the beginning of an allocation.
bool forget_memory(void const* data);
// Whether all of it lies in one allocation. Thread-safe.
bool is_device_memory(std::uint64_t address, std::size_t bytes);

}  // namespace ptx
