// SPDX-License-Identifier: Apache-2.0
#include "cell.hpp"

#include "../machine/cluster.hpp"

#include <string>

namespace ptx {

namespace {

unsigned block_of(unsigned warp) { return warp >> 5; }

// True if `time` precedes the last completed cluster barrier, at which a warp arrived at `arrivals`
// (a ring, see order::arrivals).
bool before_cluster_barrier(warp const& w, moment time, std::array<moment, 4> const& arrivals) {
  std::uint32_t const barriers = w.past.cluster_barriers;
  return barriers != 0 && time < arrivals[(barriers - 1) % 4];
}
std::array<moment, 4> const& arrivals_of(warp const& w, unsigned other) {
  block const& b = w.block->cluster->blocks[block_of(other)];
  return b.warps[other % 32].past.arrivals;
}

}  // namespace

bool came_before(warp const& w, unsigned lane, moment time, unsigned thread) {
  unsigned const other = warp_of(thread);
  if (block_of(other) == w.block->rank) {
    if (other == warp_of(w.first_thread)) {
      unsigned const other_lane = thread % 32;
      if (other_lane == lane || time < w.past.last_sync_of(lane, other_lane)) return true;
    } else if (time < w.past.block_barrier) {
      return true;
    }
  }
  return before_cluster_barrier(w, time, arrivals_of(w, other));
}

bool came_before(warp const& w, unsigned lane, reading const& r) {
  if (r.reader >= several_blocks)
    return before_cluster_barrier(w, r.last, w.block->cluster->last_arrivals);
  if (r.reader >= several_warps) {
    if (block_of(r.reader - several_warps) == w.block->rank && r.last < w.past.block_barrier)
      return true;
    return before_cluster_barrier(w, r.last, w.block->cluster->last_arrivals);
  }
  for (lane_mask rest = r.lanes; rest != 0; rest &= rest - 1)
    if (!came_before(
            w, lane, r.last,
            static_cast<unsigned>(r.reader) << 5 | static_cast<unsigned>(__builtin_ctz(rest))))
      return false;
  return true;
}

reading with_reader(warp const& w, unsigned lane, reading const& r) {
  auto const warp = static_cast<std::uint16_t>(warp_of(w.first_thread));
  lane_mask const bit = lane_mask{1} << lane;
  if (r.last < w.past.cluster_begin || came_before(w, lane, r))
    return {w.past.last_sync, bit, warp};
  moment const last = std::max(r.last, w.past.last_sync);
  if (r.reader == warp) return {last, r.lanes | bit, warp};
  if (r.reader >= several_blocks) return {last, 0, several_blocks};
  unsigned const block =
      block_of(r.reader >= several_warps ? static_cast<unsigned>(r.reader - several_warps)
                                         : static_cast<unsigned>(r.reader));
  if (block != w.block->rank) return {last, 0, several_blocks};
  return {last, 0, static_cast<std::uint16_t>(several_warps | w.block->rank << 5)};
}

std::string name_of_thread(warp const& w, unsigned thread) {
  std::string name = "thread " + std::to_string(thread % 1024);
  if (w.block->cluster->blocks.size() > 1)
    name += " of the cluster's block " + std::to_string(thread / 1024);
  return name;
}

std::string name_of_readers(warp const& w, reading const& r, unsigned thread) {
  if (r.reader >= several_warps) return "several threads";
  bool const same_warp = warp_of(thread) == r.reader;
  lane_mask const others = same_warp ? r.lanes & ~(lane_mask{1} << thread % 32) : r.lanes;
  return name_of_thread(
      w, static_cast<unsigned>(r.reader) << 5 | static_cast<unsigned>(__builtin_ctz(others)));
}

}  // namespace ptx
