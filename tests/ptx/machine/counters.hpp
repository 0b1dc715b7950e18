// SPDX-License-Identifier: Apache-2.0
// What can be counted of a kernel by running it, whatever the machine's speed.
#pragma once

#include <cstdint>
#include <vector>

namespace ptx {

struct counters {
  std::uint64_t launches = 0, blocks = 0, threads = 0;
  std::uint64_t warp_instructions = 0;    // executed, a warp counts once
  std::uint64_t thread_instructions = 0;  // a warp counts its active lanes
  std::uint64_t divergent_branches = 0;   // that some lanes of a warp took and others did not
  std::uint64_t barriers = 0;             // of a block
  std::uint64_t cluster_barriers = 0;
  std::uint64_t shuffles = 0, matrix_products = 0, matrix_loads = 0, async_copies = 0;
  // By watch::count_memory. A wavefront is a cycle of the 32 banks; the ideal is what the bytes
  // alone need. A sector is 32 bytes.
  std::uint64_t shared_requests = 0, shared_wavefronts = 0, shared_ideal = 0;
  std::uint64_t global_requests = 0, global_sectors = 0, global_bytes = 0;
  std::uint64_t remote_sectors = 0;  // of shared memory of another block than the warp's own
  // By watch::count_memory: warp_instructions of each instruction of kernel::code; else empty.
  std::vector<std::uint64_t> executed;

  counters& operator+=(counters const& other);
};

}  // namespace ptx
