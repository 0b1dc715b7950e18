// SPDX-License-Identifier: Apache-2.0
// History of a few bytes of memory: the last write and the reads since.
#pragma once

#include "order.hpp"

#include <cstdint>
#include <string>

namespace ptx {

class warp;

// Threads whose last reads are unordered: lanes of one warp. A code in place of the warp's number
// stands for several warps or blocks.
struct reading {
  moment last = 0;
  lane_mask lanes = 0;
  std::uint16_t reader = 0;
};
inline constexpr std::uint16_t several_warps = 0x4000;  // | block << 5
inline constexpr std::uint16_t several_blocks = 0x8000;

struct writing {
  moment time = 0;
  std::uint16_t writer = 0;  // the thread's number in the cluster
};
inline constexpr std::uint16_t copy_in_flight = 0xffff;  // writer: an unfinished asynchronous copy

struct cell {
  moment written = 0, read = 0;
  lane_mask lanes = 0;
  std::uint16_t writer = 0, reader = 0;

  writing last_writing() const { return {written, writer}; }
  reading last_reading() const { return {read, lanes, reader}; }
  void set(reading const& r) { read = r.last, lanes = r.lanes, reader = r.reader; }
};

// True if the access is ordered before the current one of this lane.
bool came_before(warp const& w, unsigned lane, moment time, unsigned thread);
bool came_before(warp const& w, unsigned lane, reading const& r);
// Adds this lane as a reader.
reading with_reader(warp const& w, unsigned lane, reading const& r);

// Names a thread: "thread 3", with the block's rank if the cluster has several blocks.
std::string name_of_thread(warp const& w, unsigned thread);
// Names a reader other than `thread`, or "several threads".
std::string name_of_readers(warp const& w, reading const& r, unsigned thread);

}  // namespace ptx
