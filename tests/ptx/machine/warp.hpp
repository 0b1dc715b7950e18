// SPDX-License-Identifier: Apache-2.0
// A warp, 32 lanes in lockstep: registers, control flow, and synchronization state.
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

// Lanes that execute separately from the others until `join`.
struct path {
  std::int32_t next, join;
  lane_mask lanes;
};

// A cp.async that has not been waited for.
struct pending_copy {
  std::uint32_t to;           // offset in shared memory
  std::uint64_t from;         // address in global memory
  std::uint8_t bytes;         // bytes to write
  std::uint8_t source_bytes;  // bytes to read; the rest is written as zeros
  std::uint8_t lane;
  std::uint32_t group;
};

class warp {
 public:
  std::uint64_t* result(operand const& o) {
    return &registers[static_cast<std::size_t>(o.row) * warp_lanes];
  }
  std::uint64_t const* source(operand const& o) const {
    return (o.is_constant ? constants : registers.data()) +
           static_cast<std::size_t>(o.row) * warp_lanes;
  }
  // Throws fault with the location (kernel, block, warp, line) and `message`.
  [[noreturn]] void fail(std::string const& message) const;
  // Adds the thread and an address to the message.
  [[noreturn]] void fail(std::string const& message, unsigned lane, std::uint64_t address) const;

  // Begins a kernel. `threads` is the number of threads of the block from this warp on.
  void start(unsigned threads, timestamp begin);
  // Runs until the warp waits, ends, or has used up its time slice.
  void run();
  // Throws fault unless all running lanes are active.
  void require_converged(lane_mask active, char const* operation) const;

  ptx::block* block = nullptr;
  unsigned rank = 0;          // rank in the block
  unsigned first_thread = 0;  // rank of lane 0 in the cluster
  lane_mask alive = 0;        // lanes that have not left the kernel
  lane_mask converged = 0;    // lanes on the current path, regardless of the guard
  std::vector<std::uint64_t> registers;
  std::uint64_t const* constants = nullptr;
  std::vector<path> paths;  // stack; the innermost path is last
  progress state = progress::running;
  instruction const* current = nullptr;  // the instruction being executed, or the last one
  lane_mask vote = 0;                    // votes at a reducing barrier
  std::uint32_t cluster_arrivals = 0, cluster_waits = 0;
  std::vector<pending_copy> copies;
  std::array<std::uint32_t, warp_lanes> committed_groups{};  // per lane
  sync_state sync;

 private:
  void run_path(path& p);
  lane_mask guarded_lanes(instruction const& instr) const;
  void diverge(path& p, instruction const& instr, lane_mask taken);
  void exit_lanes(lane_mask lanes);

  int branches_until_yield = 0;  // remaining time slice
};

}  // namespace ptx
