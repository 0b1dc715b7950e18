// SPDX-License-Identifier: Apache-2.0
// What a warp's access costs in cycles of the shared memory's banks, or in sectors of global
// memory. CUDA C++ Programming Guide, "Shared Memory" and "Global Memory" of a compute capability.
#pragma once

#include "../machine/counters.hpp"
#include "../module/kernel.hpp"

#include <cstddef>
#include <cstdint>

namespace ptx {

// Lane l of `active` accesses so many bytes at addresses[l].
void count_shared(counters& counted, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active);
void count_global(counters& counted, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active);
// Of shared memory of other blocks; an address says which.
void count_remote(counters& counted, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active);

}  // namespace ptx
