// SPDX-License-Identifier: Apache-2.0
// Performance counters of a kernel. They do not depend on the speed of the host.
#pragma once

#include <cstdint>
#include <vector>

namespace ptx {

struct counters {
  std::uint64_t launches = 0, blocks = 0, threads = 0;
  std::uint64_t warp_instructions = 0;    // counted once per warp
  std::uint64_t thread_instructions = 0;  // counted once per active lane
  std::uint64_t divergent_branches = 0;   // taken by only some lanes of a warp
  std::uint64_t barriers = 0;             // block barriers
  std::uint64_t cluster_barriers = 0;
  std::uint64_t shuffles = 0, matrix_products = 0, matrix_loads = 0, async_copies = 0;
  // Only with machine_options::count_memory. A wavefront is one cycle of the 32 banks; the ideal
  // number of wavefronts has no bank conflicts. A sector is 32 bytes.
  std::uint64_t shared_requests = 0, shared_wavefronts = 0, shared_ideal_wavefronts = 0;
  std::uint64_t global_requests = 0, global_sectors = 0, global_bytes = 0;
  std::uint64_t remote_sectors = 0;  // in the shared memory of other blocks
  // Warp instructions per instruction of kernel::code; empty without machine_options::count_memory.
  std::vector<std::uint64_t> executed;

  counters& operator+=(counters const& other);
};

}  // namespace ptx
