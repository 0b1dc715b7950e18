// SPDX-License-Identifier: Apache-2.0
// Access history of one grain of memory: the last write and the reads since.
#pragma once

#include "order.hpp"

#include <cstdint>
#include <string>

namespace ptx {

class warp;

// The latest reads that are not ordered among each other. `reader` is a warp's rank in the cluster,
// or one of the codes below for several warps or blocks; `lanes` are the lanes of a single warp.
struct read_record {
  timestamp time = 0;
  lane_mask lanes = 0;
  std::uint16_t reader = 0;
};
inline constexpr std::uint16_t several_warps = 0x4000;  // plus block << 5
inline constexpr std::uint16_t several_blocks = 0x8000;

struct write_record {
  timestamp time = 0;
  std::uint16_t writer = 0;  // the thread's rank in the cluster
};
inline constexpr std::uint16_t copy_in_flight = 0xffff;  // writer: an unfinished asynchronous copy

struct cell {
  timestamp write_time = 0, read_time = 0;
  lane_mask reader_lanes = 0;
  std::uint16_t writer = 0, reader = 0;

  write_record last_write() const { return {write_time, writer}; }
  read_record last_read() const { return {read_time, reader_lanes, reader}; }
  void set(read_record const& r) { read_time = r.time, reader_lanes = r.lanes, reader = r.reader; }
};

// True if the access by `thread` at `time`, or the reads, are ordered before the current access of
// `lane`.
bool came_before(warp const& w, unsigned lane, timestamp time, unsigned thread);
bool came_before(warp const& w, unsigned lane, read_record const& r);
// Returns the record with `lane` as an additional reader.
read_record with_reader(warp const& w, unsigned lane, read_record const& r);

// Names a thread: "thread 3", with the block's rank if the cluster has several blocks.
std::string describe_thread(warp const& w, unsigned thread);
// Names a reader other than `thread`, or "several threads".
std::string describe_readers(warp const& w, read_record const& r, unsigned thread);

}  // namespace ptx
