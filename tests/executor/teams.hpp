// SPDX-License-Identifier: Apache-2.0
// Internal to the block executor: declarations that its two kinds of team share.
#pragma once

#include "block_executor.hpp"
#include "support/inputs.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace support {

inline constexpr index_t max_blocks = index_t{1} << 31;

// Visits the blocks or clusters in a random order without storing a list, by a stride that is
// coprime to their count.
class block_order {
 public:
  block_order(index_t blocks, random_stream& random);
  index_t operator()(index_t i) const {
    return static_cast<index_t>((static_cast<std::uint64_t>(i) * stride_ + first_) % blocks_);
  }

 private:
  std::uint64_t blocks_, first_, stride_ = 1;
};

inline constexpr int warp_threads = slicesort::detail::warp_threads;
// The last warp of a block may have fewer than 32 threads.
inline int warps_per_block(int threads) {
  return slicesort::detail::divide_up(threads, warp_threads);
}

// Describes how the threads, numbered from `first`, disagree about the barrier. Returns "" if they
// agree.
std::string describe_divergence(std::vector<arrival> const& arrivals, std::size_t first = 0);
// Returns a block_fault whose message names the block and the seed.
block_fault fault_in_block(index_t cluster, launch const& config, std::string const& message);

void run_with_fibers(launch const& config, thread_function thread, void const* kernel);
void run_with_threads(launch const& config, thread_function thread, void const* kernel);

}  // namespace support
