// SPDX-License-Identifier: Apache-2.0
// 32 lanes in lockstep: their registers, where they are, and what they wait for.
#pragma once

#include "../module/kernel.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

struct block;

enum class progress : std::uint8_t { running, at_barrier, at_cluster_barrier, ended };

// A part of the lanes that goes its own way until `join`.
struct path {
  std::int32_t next, join;
  lane_mask lanes;
};

// cp.async that has not arrived yet.
struct pending_copy {
  std::uint32_t to;     // shared memory
  std::uint64_t from;   // global memory
  std::uint32_t bytes;  // the rest of 16 becomes zero
  std::uint8_t lane;
};

class warp {
 public:
  std::uint64_t* result(operand const& o) {
    return &registers[static_cast<std::size_t>(o.row) * 32];
  }
  std::uint64_t const* source(operand const& o) const {
    return (o.constant ? constants : registers.data()) + static_cast<std::size_t>(o.row) * 32;
  }
  // Throws fault: kernel, block, warp, line of the text and `what`.
  [[noreturn]] void fail(std::string const& what) const;
  // Beside, which thread it is, and an address.
  [[noreturn]] void fail(std::string const& what, int lane, std::uint64_t address) const;

  block* in = nullptr;
  int number = 0;       // in the block
  lane_mask alive = 0;  // have not left the kernel
  lane_mask together =
      0;  // on the path of the instruction that is being executed, whatever its guard
  std::vector<std::uint64_t> registers;
  std::uint64_t const* constants = nullptr;
  std::vector<path> paths;  // the innermost last
  progress state = progress::running;
  instruction const* now = nullptr;
  lane_mask vote = 0;          // at a barrier that reduces
  std::uint64_t arrivals = 0;  // at cluster barriers
  std::vector<pending_copy> copies;
};

}  // namespace ptx
