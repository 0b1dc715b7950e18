// SPDX-License-Identifier: Apache-2.0
// Which accesses of a cluster's threads come before which: only what barriers order is ordered,
// whatever order the machine happens to run its warps in, and lanes of a warp are ordered by
// bar.warp.sync alone. PTX ISA 8 "Memory Consistency Model".
#pragma once

#include "../module/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace ptx {

// Synchronizations are counted, over all warps of a cluster and over all clusters that a machine
// runs in turn. An access has the moment of its warp's last synchronization. 0: never.
using moment = std::uint32_t;

// A thread's number among those of its cluster: 1024 for each block.
inline constexpr unsigned thread_of(unsigned block, unsigned warp, unsigned lane) {
  return block << 10 | warp << 5 | lane;
}
inline constexpr unsigned warp_of(unsigned thread) { return thread >> 5; }
inline constexpr unsigned block_of_thread(unsigned thread) { return thread >> 10; }

// What a warp knows of the past.
class order {
 public:
  void start(moment begin) {
    *this = order();
    born = now = calm = block_calm = block_barrier = lanes = begin;
  }

  moment born = 0;  // when the cluster began
  moment now = 0;   // the warp's own last synchronization
  // Whatever any thread of the cluster did before this moment comes before what the warp does now.
  moment calm = 0;
  moment block_calm = 0;  // whatever any thread of its block did
  moment block_barrier = 0;
  std::uint32_t cluster_barriers = 0;  // that are over, as the warp knows
  // When the warp came to the cluster barrier n: at n % 4. Another warp of the cluster can be at
  // most two barriers behind.
  std::array<moment, 4> arrivals{};
  moment lanes = 0;  // bar.warp.sync of all lanes
  // Of some lanes: pairs[32 * i + j] is the moment before which all that lane j did comes before
  // what lane i does now. Empty: there was none.
  std::vector<moment> pairs;

  void synchronize_lanes(lane_mask together, moment when);
  moment lanes_met(unsigned i, unsigned j) const {
    moment const all = std::max(block_barrier, lanes);
    return pairs.empty() ? all : std::max(all, pairs[32 * i + j]);
  }
};

}  // namespace ptx
