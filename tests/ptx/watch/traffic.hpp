// SPDX-License-Identifier: Apache-2.0
// Cost of a warp's memory access: wavefronts of shared memory, or sectors of global memory.
// CUDA C++ Programming Guide, "Shared Memory" and "Global Memory" of a compute capability.
#pragma once

#include "../machine/counters.hpp"
#include "../module/kernel.hpp"

#include <cstddef>
#include <cstdint>

namespace ptx {

// Active lane l accesses `bytes` bytes at addresses[l].
void count_shared(counters& counts, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active);
void count_global(counters& counts, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active);
// Counts accesses to the shared memory of other blocks, by generic addresses.
void count_remote(counters& counts, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active);

}  // namespace ptx
