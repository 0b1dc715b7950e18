// SPDX-License-Identifier: Apache-2.0
#include "cell.hpp"

#include "../machine/cluster.hpp"

#include <string>

namespace ptx {

namespace {

unsigned block_of(unsigned warp) { return warp >> 5; }

// Whether the warp knows that this came before a barrier of the cluster, to which some warp came
// at `arrival` (a ring, see order::arrivals).
bool before_cluster_barrier(warp const& w, moment when, std::array<moment, 4> const& arrivals) {
  std::uint32_t const over = w.past.cluster_barriers;
  return over != 0 && when < arrivals[(over - 1) % 4];
}
std::array<moment, 4> const& arrivals_of(warp const& w, unsigned other) {
  block const& b = w.in->of->blocks[block_of(other)];
  return b.warps[other % 32].past.arrivals;
}

}  // namespace

bool came_before(warp const& w, unsigned lane, moment when, unsigned thread) {
  unsigned const other = warp_of(thread);
  if (block_of(other) == w.in->rank) {
    if (other == warp_of(w.first_thread)) {
      unsigned const from = thread % 32;
      if (from == lane || when < w.past.lanes_met(lane, from)) return true;
    } else if (when < w.past.block_barrier) {
      return true;
    }
  }
  return before_cluster_barrier(w, when, arrivals_of(w, other));
}

bool came_before(warp const& w, unsigned lane, reading const& r) {
  if (r.reader >= several_blocks) return before_cluster_barrier(w, r.last, w.in->of->last_arrivals);
  if (r.reader >= several_warps) {
    if (block_of(r.reader - several_warps) == w.in->rank && r.last < w.past.block_barrier)
      return true;
    return before_cluster_barrier(w, r.last, w.in->of->last_arrivals);
  }
  for (lane_mask rest = r.lanes; rest != 0; rest &= rest - 1)
    if (!came_before(
            w, lane, r.last,
            static_cast<unsigned>(r.reader) << 5 | static_cast<unsigned>(__builtin_ctz(rest))))
      return false;
  return true;
}

reading joined(warp const& w, unsigned lane, reading const& r) {
  auto const mine = static_cast<std::uint16_t>(warp_of(w.first_thread));
  lane_mask const bit = lane_mask{1} << lane;
  if (r.last < w.past.born || came_before(w, lane, r)) return {w.past.now, bit, mine};
  moment const last = std::max(r.last, w.past.now);
  if (r.reader == mine) return {last, r.lanes | bit, mine};
  if (r.reader >= several_blocks) return {last, 0, several_blocks};
  unsigned const block =
      block_of(r.reader >= several_warps ? static_cast<unsigned>(r.reader - several_warps)
                                         : static_cast<unsigned>(r.reader));
  if (block != w.in->rank) return {last, 0, several_blocks};
  return {last, 0, static_cast<std::uint16_t>(several_warps | w.in->rank << 5)};
}

std::string name_of_thread(warp const& w, unsigned thread) {
  std::string name = "thread " + std::to_string(thread % 1024);
  if (w.in->of->blocks.size() > 1)
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
