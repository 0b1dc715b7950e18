// SPDX-License-Identifier: Apache-2.0
// 32 lanes in lockstep: their registers, where they are, and what they wait for.
#pragma once

#include "../module/kernel.hpp"
#include "../watch/order.hpp"

#include <array>
#include <cstddef>
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

// cp.async that was not waited for yet.
struct pending_copy {
  std::uint32_t to;     // shared memory
  std::uint64_t from;   // global memory
  std::uint8_t bytes;   // that are written
  std::uint8_t source;  // that are read; the rest becomes zero
  std::uint8_t lane;
  std::uint32_t group;
};

class warp {
 public:
  std::uint64_t* result(operand const& o) {
    return &registers[static_cast<std::size_t>(o.row) * warp_lanes];
  }
  std::uint64_t const* source(operand const& o) const {
    return (o.constant ? constants : registers.data()) +
           static_cast<std::size_t>(o.row) * warp_lanes;
  }
  // Throws fault: kernel, block, warp, line of the text and `what`.
  [[noreturn]] void fail(std::string const& what) const;
  // Beside, which thread it is, and an address.
  [[noreturn]] void fail(std::string const& what, unsigned lane, std::uint64_t address) const;

  // At the kernel's beginning, with so many threads.
  void start(unsigned threads, moment begin);
  // Until it waits or ends, or for so long that others should have a turn.
  void run();
  // What every instruction that works on a warp as a whole demands.
  void demand_whole(lane_mask active, char const* what) const;

  block* in = nullptr;
  unsigned number = 0;        // in the block
  unsigned first_thread = 0;  // in the cluster: thread_of(block, number, 0)
  lane_mask alive = 0;        // have not left the kernel
  lane_mask together = 0;     // on the path of the instruction that is being executed, whatever its
                              // guard
  std::vector<std::uint64_t> registers;
  std::uint64_t const* constants = nullptr;
  std::vector<path> paths;  // the innermost last
  progress state = progress::running;
  instruction const* now = nullptr;  // is being executed, or was the last
  lane_mask vote = 0;                // at a barrier that reduces
  std::uint32_t cluster_arrivals = 0, cluster_waits = 0;
  std::vector<pending_copy> copies;
  std::array<std::uint32_t, warp_lanes> copy_groups{};  // that each lane committed
  order past;

 private:
  void follow(path& p);
  lane_mask chosen(instruction const& n) const;
  void fork(path& p, instruction const& n, lane_mask taken);
  void leave(lane_mask lanes);

  int turn = 0;  // branches until others have theirs
};

}  // namespace ptx
