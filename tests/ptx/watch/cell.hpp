// SPDX-License-Identifier: Apache-2.0
// What is known of a few bytes of memory: who wrote them last, and who has read them since.
#pragma once

#include "order.hpp"

#include <cstdint>
#include <string>

namespace ptx {

class warp;

// Threads that read something, none of them ordered before the others: lanes of one warp, or, by
// a code instead of the warp's number, anything wider.
struct reading {
  moment last = 0;
  lane_mask lanes = 0;
  std::uint16_t reader = 0;
};
inline constexpr std::uint16_t several_warps = 0x4000;  // | block << 5
inline constexpr std::uint16_t several_blocks = 0x8000;

struct writing {
  moment when = 0;
  std::uint16_t writer = 0;  // the thread's number in the cluster
};
inline constexpr std::uint16_t copying = 0xffff;  // an asynchronous copy is under way

struct cell {
  moment written = 0, read = 0;
  lane_mask lanes = 0;
  std::uint16_t writer = 0, reader = 0;

  writing last_writing() const { return {written, writer}; }
  reading last_reading() const { return {read, lanes, reader}; }
  void set(reading const& r) { read = r.last, lanes = r.lanes, reader = r.reader; }
};

// Whether it came before what this lane does now.
bool came_before(warp const& w, unsigned lane, moment when, unsigned thread);
bool came_before(warp const& w, unsigned lane, reading const& r);
// The reading with this lane as a reader.
reading joined(warp const& w, unsigned lane, reading const& r);

// "thread 3"; where there is more than one block, its number in the cluster too.
std::string name_of_thread(warp const& w, unsigned thread);
// One of them that is not `thread`, or "several threads".
std::string name_of_readers(warp const& w, reading const& r, unsigned thread);

}  // namespace ptx
