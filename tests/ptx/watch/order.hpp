// SPDX-License-Identifier: Apache-2.0
// The happens-before order of a cluster's memory accesses. Only barriers order the accesses of
// different warps, regardless of the order in which the machine runs them. Only bar.warp.sync
// orders the accesses of lanes of one warp. PTX ISA 8 "Memory Consistency Model".
#pragma once

#include "../module/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace ptx {

// Number of synchronizations so far, by all warps of all clusters of a machine. An access has the
// timestamp of its warp's last synchronization. 0: never.
using timestamp = std::uint32_t;

// Rank of a thread in its cluster; each block has room for 1024 threads.
inline constexpr unsigned thread_of(unsigned block, unsigned warp, unsigned lane) {
  return block << 10 | warp << 5 | lane;
}
inline constexpr unsigned warp_of(unsigned thread) { return thread >> 5; }
inline constexpr unsigned block_of_thread(unsigned thread) { return thread >> 10; }

// Describes the accesses that are ordered before a warp's next access.
class sync_state {
 public:
  void start(timestamp begin) {
    *this = sync_state();
    cluster_begin = last_sync = cluster_ordered = block_ordered = block_barrier = lane_sync = begin;
  }

  timestamp cluster_begin = 0;  // start of the cluster
  timestamp last_sync = 0;      // last synchronization of this warp
  // Accesses by the cluster before this time are ordered before the warp's next access.
  timestamp cluster_ordered = 0;
  timestamp block_ordered = 0;  // the same for accesses by the warp's block
  timestamp block_barrier = 0;
  std::uint32_t cluster_barriers = 0;  // completed cluster barriers that the warp has waited for
  // The warp's arrival time at cluster barrier n, at index n % 4. Other warps of the cluster are at
  // most two barriers behind.
  std::array<timestamp, 4> arrivals{};
  timestamp lane_sync = 0;  // last bar.warp.sync of all lanes
  // For bar.warp.sync of some lanes: accesses of lane j before pair_syncs[32 * i + j] are ordered
  // before the next access of lane i. Empty if there was none.
  std::vector<timestamp> pair_syncs;

  void synchronize_lanes(lane_mask participants, timestamp time);
  timestamp last_sync_of(unsigned lane, unsigned other_lane) const {
    timestamp const warp_wide = std::max(block_barrier, lane_sync);
    return pair_syncs.empty() ? warp_wide : std::max(warp_wide, pair_syncs[32 * lane + other_lane]);
  }
};

}  // namespace ptx
