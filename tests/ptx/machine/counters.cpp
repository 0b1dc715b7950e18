// SPDX-License-Identifier: Apache-2.0
#include "counters.hpp"

#include <algorithm>
#include <cstddef>

namespace ptx {

counters& counters::operator+=(counters const& other) {
  launches += other.launches;
  blocks += other.blocks;
  threads += other.threads;
  warp_instructions += other.warp_instructions;
  thread_instructions += other.thread_instructions;
  divergent_branches += other.divergent_branches;
  barriers += other.barriers;
  cluster_barriers += other.cluster_barriers;
  shuffles += other.shuffles;
  matrix_products += other.matrix_products;
  matrix_loads += other.matrix_loads;
  async_copies += other.async_copies;
  shared_requests += other.shared_requests;
  shared_wavefronts += other.shared_wavefronts;
  shared_ideal_wavefronts += other.shared_ideal_wavefronts;
  global_requests += other.global_requests;
  global_sectors += other.global_sectors;
  global_bytes += other.global_bytes;
  remote_sectors += other.remote_sectors;
  executed.resize(std::max(executed.size(), other.executed.size()));
  for (std::size_t i = 0; i < other.executed.size(); ++i) executed[i] += other.executed[i];
  return *this;
}

}  // namespace ptx
