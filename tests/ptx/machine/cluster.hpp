// SPDX-License-Identifier: Apache-2.0
// What runs one cluster after the other: blocks that run at a time and reach each other's shared
// memory. Without clusters, a cluster is a block.
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
  // `faulty`: no cluster behind that one matters any more, nor will any get what it waits for.
  cluster(kernel const& k, launch const& how, std::atomic<std::uint64_t> const& faulty);
  ~cluster();
  cluster(cluster const&) = delete;
  cluster& operator=(cluster const&) = delete;

  // The cluster of this number among those of the grid. Throws fault.
  void run(std::uint64_t number);

  // What warps and instructions use.
  kernel const& of;
  launch const& how;
  // The kernel's, or a copy of it without the synchronization that is removed.
  std::vector<instruction> const& code() const { return altered_.empty() ? of.code : altered_; }
  moment tick() { return ++clock_; }
  // The allocation that the address lies in, or an empty one. `n` is likely to want it again.
  allocation const& memory_of(instruction const& n, std::uint64_t address);
  allocation const& last_memory_of(instruction const& n) const { return hints_[hint(n)]; }

  random_numbers random{0};
  counters counted;
  std::vector<block> blocks;
  bool late_copies = false;                // cp.async lands when it is waited for
  std::uint32_t barriers_over = 0;         // of the cluster
  std::array<moment, 4> first_arrivals{};  // at the cluster's barrier n: at n % 4
  std::array<moment, 4> last_arrivals{};
  std::unique_ptr<global_races> global;  // where they are watched

 private:
  void start(std::uint64_t number);
  void release(block& b);
  void release_cluster();
  void pass_cluster_barrier(warp& w);
  void settle(warp& w) const;
  [[noreturn]] void deadlock() const;
  std::size_t hint(instruction const& n) const {
    return static_cast<std::size_t>(&n - code().data()) % hints_.size();
  }

  std::atomic<std::uint64_t> const& faulty_;
  std::vector<instruction> altered_;
  moment clock_ = 0;
  memory_map memory_;
  std::array<allocation, 64> hints_{};
  std::vector<warp*> all_;
  std::vector<std::pair<special, int>> specials_;  // and the row that holds it
};

}  // namespace ptx
