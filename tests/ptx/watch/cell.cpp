// SPDX-License-Identifier: Apache-2.0
#include "cell.hpp"

#include "../machine/cluster.hpp"

#include <string>

namespace ptx {

namespace {

unsigned block_of(unsigned warp) { return warp >> 5; }

// True if `time` precedes the arrival at the last completed cluster barrier. For `arrivals`, see
// sync_state::arrivals.
bool before_cluster_barrier(warp const& w, timestamp time,
                            std::array<timestamp, 4> const& arrivals) {
  std::uint32_t const barriers = w.sync.cluster_barriers;
  return barriers != 0 && time < arrivals[(barriers - 1) % 4];
}
std::array<timestamp, 4> const& arrivals_of(warp const& w, unsigned other_warp) {
  block const& b = w.block->cluster->blocks[block_of(other_warp)];
  return b.warps[other_warp % 32].sync.arrivals;
}

}  // namespace

bool came_before(warp const& w, unsigned lane, timestamp time, unsigned thread) {
  unsigned const other_warp = warp_of(thread);
  if (block_of(other_warp) == w.block->rank) {
    if (other_warp == warp_of(w.first_thread)) {
      unsigned const other_lane = thread % 32;
      if (other_lane == lane || time < w.sync.last_sync_of(lane, other_lane)) return true;
    } else if (time < w.sync.block_barrier) {
      return true;
    }
  }
  return before_cluster_barrier(w, time, arrivals_of(w, other_warp));
}

bool came_before(warp const& w, unsigned lane, read_record const& r) {
  if (r.reader >= several_blocks)
    return before_cluster_barrier(w, r.time, w.block->cluster->last_arrivals);
  if (r.reader >= several_warps) {
    if (block_of(r.reader - several_warps) == w.block->rank && r.time < w.sync.block_barrier)
      return true;
    return before_cluster_barrier(w, r.time, w.block->cluster->last_arrivals);
  }
  for (lane_mask rest = r.lanes; rest != 0; rest &= rest - 1)
    if (!came_before(
            w, lane, r.time,
            static_cast<unsigned>(r.reader) << 5 | static_cast<unsigned>(__builtin_ctz(rest))))
      return false;
  return true;
}

read_record with_reader(warp const& w, unsigned lane, read_record const& r) {
  auto const warp = static_cast<std::uint16_t>(warp_of(w.first_thread));
  lane_mask const lane_bit = lane_mask{1} << lane;
  if (r.time < w.sync.cluster_begin || came_before(w, lane, r))
    return {w.sync.last_sync, lane_bit, warp};
  timestamp const time = std::max(r.time, w.sync.last_sync);
  if (r.reader == warp) return {time, r.lanes | lane_bit, warp};
  if (r.reader >= several_blocks) return {time, 0, several_blocks};
  unsigned const block =
      block_of(r.reader >= several_warps ? static_cast<unsigned>(r.reader - several_warps)
                                         : static_cast<unsigned>(r.reader));
  if (block != w.block->rank) return {time, 0, several_blocks};
  return {time, 0, static_cast<std::uint16_t>(several_warps | w.block->rank << 5)};
}

std::string describe_thread(warp const& w, unsigned thread) {
  std::string name = "thread " + std::to_string(thread % 1024);
  if (w.block->cluster->blocks.size() > 1)
    name += " of the cluster's block " + std::to_string(thread / 1024);
  return name;
}

std::string describe_readers(warp const& w, read_record const& r, unsigned thread) {
  if (r.reader >= several_warps) return "several threads";
  bool const same_warp = warp_of(thread) == r.reader;
  lane_mask const others = same_warp ? r.lanes & ~(lane_mask{1} << thread % 32) : r.lanes;
  return describe_thread(
      w, static_cast<unsigned>(r.reader) << 5 | static_cast<unsigned>(__builtin_ctz(others)));
}

}  // namespace ptx
