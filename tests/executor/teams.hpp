// SPDX-License-Identifier: Apache-2.0
// Inside the block executor: what its two kinds of team share.
#pragma once

#include "block_executor.hpp"
#include "support/inputs.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace support {

inline constexpr index_t most_blocks = index_t{1} << 31;

// A random permutation of the clusters, without a list of them: a walk whose step is coprime to
// their number.
class block_order {
 public:
  block_order(index_t blocks, random_stream& random);
  index_t operator()(index_t i) const {
    return static_cast<index_t>((static_cast<std::uint64_t>(i) * step_ + first_) % blocks_);
  }

 private:
  std::uint64_t blocks_, first_, step_ = 1;
};

// The warps of a block, the last of which may have fewer threads than a device's.
inline constexpr int warp_threads = slicesort::detail::warp_threads;
inline int warps_of(int threads) { return slicesort::detail::divide_up(threads, warp_threads); }

// What is wrong with the arrivals of threads at one point; "" when they agree. They are numbered
// from `first`.
std::string disagreement(std::vector<arrival> const& arrivals, std::size_t first = 0);
// A block_fault whose message says where it happened.
block_fault in_block(index_t cluster, launch const& how, std::string const& what);

void run_with_fibers(launch const& how, thread_function thread, void const* kernel);
void run_with_threads(launch const& how, thread_function thread, void const* kernel);

}  // namespace support
