// SPDX-License-Identifier: Apache-2.0
// Runs clusters, one after the other. The blocks of a cluster run at the same time and access each
// other's shared memory. Without clusters, a cluster is one block.
#pragma once

#include "block.hpp"
#include "counters.hpp"
#include "device_memory.hpp"
#include "launch.hpp"
#include "random.hpp"
#include "specials.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

class global_races;

class cluster {
 public:
  // `first_faulty` is the index of the first cluster with a fault; later clusters stop.
  cluster(ptx::kernel const& k, ptx::launch const& l,
          std::atomic<std::uint64_t> const& first_faulty);
  ~cluster();
  cluster(cluster const&) = delete;
  cluster& operator=(cluster const&) = delete;

  // Runs one cluster of the grid. Throws fault.
  void run(std::uint64_t cluster_index);

  ptx::kernel const& kernel;
  ptx::launch const& launch;
  // The kernel's code, or a copy of it without the removed synchronization.
  std::vector<instruction> const& code() const {
    return altered_code_.empty() ? kernel.code : altered_code_;
  }
  timestamp tick() { return ++clock_; }
  // Finds the allocation that contains the address, else an empty one. Caches it per instruction.
  allocation const& find_allocation(instruction const& instr, std::uint64_t address);
  allocation const& last_allocation(instruction const& instr) const {
    return last_allocations_[cache_index(instr)];
  }

  random_generator random{0};
  counters counts;
  std::vector<block> blocks;
  bool late_copies = false;                   // cp.async writes at the wait, not at the start
  std::uint32_t completed_barriers = 0;       // cluster barriers
  std::array<timestamp, 4> first_arrivals{};  // arrival times at cluster barrier n, at index n % 4
  std::array<timestamp, 4> last_arrivals{};
  std::unique_ptr<global_races> global_race_detector;  // null: disabled

 private:
  void start(std::uint64_t cluster_index);
  void release_block(block& b);
  void release_cluster();
  void pass_cluster_barrier(warp& w);
  void update_ordered(warp& w) const;
  [[noreturn]] void fail_deadlock() const;
  std::size_t cache_index(instruction const& instr) const {
    return static_cast<std::size_t>(&instr - code().data()) % last_allocations_.size();
  }

  std::atomic<std::uint64_t> const& first_faulty_;
  std::vector<instruction> altered_code_;
  timestamp clock_ = 0;
  memory_map memory_;
  std::array<allocation, 64> last_allocations_{};
  std::vector<warp*> warps_;
  std::vector<std::pair<special, int>> specials_;  // special registers and their rows
};

}  // namespace ptx
