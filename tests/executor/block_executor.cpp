// SPDX-License-Identifier: Apache-2.0
// Shared memory with red zones, checks of barriers, and launches of the block executor.
#include "block_executor.hpp"

#include "support/inputs.hpp"
#include "support/sanitizers.hpp"
#include "teams.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace support {

bool prefer_os_threads() {
  static bool const prefer = [] {
    char const* const value = std::getenv("SLICESORT_BLOCK_THREADS");
    return value != nullptr && value[0] != '\0' ? value[0] != '0' : SLICESORT_TEST_TSAN != 0;
  }();
  return prefer;
}

shared_pool::shared_pool(std::size_t bytes)
    : bytes_(bytes), span_(bytes + (max_slices + 1) * red_zone) {
  memory_.resize(span_ + 16);
  auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
  base_ = memory_.data() + (16 - address % 16) % 16;
}
shared_pool::~shared_pool() { unpoison(base_, span_); }

void shared_pool::fill(unsigned char garbage_tensor) {
  unpoison(base_, span_);
  std::memset(base_, garbage_tensor, span_);
  poison(base_, span_);
  garbage_ = garbage_tensor;
  for (auto& bytes : slice_sizes_) bytes.store(0, std::memory_order_relaxed);
}

// Relaxed, and without a lock: an allocation must not order the threads, or it would hide races.
void* shared_pool::allocate(cursor& position, std::size_t bytes) {
  auto const slice_name = [&] {
    return "slice " + std::to_string(position.slice) + " of shared memory";
  };
  std::size_t const end = position.used + slicesort::detail::shared_slice(bytes);
  if (position.slice == max_slices)
    throw block_fault(slice_name() + ": the executor expects no more than 32");
  if (end > bytes_)
    throw block_fault(slice_name() + " ends at byte " + std::to_string(end) +
                      ", the launch asked for " + std::to_string(bytes_));
  unsigned char* const slice = base_ + offset_of(position);
  auto& slice_size = slice_sizes_[position.slice];
  std::size_t stored_size = slice_size.load(std::memory_order_relaxed);
  if (stored_size == 0) {
    unpoison(slice, bytes);
    slice_size.compare_exchange_strong(stored_size, bytes + 1, std::memory_order_relaxed);
  }
  if (stored_size != 0 && stored_size != bytes + 1)
    throw block_fault(slice_name() + " has " + std::to_string(bytes) + " bytes in one thread, " +
                      std::to_string(stored_size - 1) + " in another");
  ++position.slice;
  position.used = end;
  return slice;
}

void shared_pool::check() {
  unpoison(base_, span_);
  std::size_t begin = 0;
  cursor position;
  for (;; ++position.slice) {
    std::size_t const slice_size =
        position.slice < max_slices ? slice_sizes_[position.slice].load(std::memory_order_relaxed)
                                    : 0;
    std::size_t const end = slice_size == 0 ? span_ : offset_of(position);
    if (!std::all_of(base_ + begin, base_ + end, [&](unsigned char b) { return b == garbage_; }))
      throw block_fault(position.slice == 0
                            ? std::string("shared memory overrun: something wrote before slice 0")
                            : "shared memory overrun: something wrote past the end of slice " +
                                  std::to_string(position.slice - 1));
    if (slice_size == 0) return;
    begin = end + slice_size - 1;
    position.used += slicesort::detail::shared_slice(slice_size - 1);
  }
}

std::string describe_divergence(std::vector<arrival> const& arrivals, std::size_t first) {
  auto const divergent = std::find_if(arrivals.begin(), arrivals.end(),
                                      [&](arrival a) { return a != arrivals.front(); });
  if (divergent == arrivals.end()) return {};
  constexpr char const* actions[] = {"ends", "waits for its warp", "waits at sync()",
                                     "waits at any()", "waits at sync_cluster()"};
  std::size_t const other_thread = first + static_cast<std::size_t>(divergent - arrivals.begin());
  return "divergent barrier: thread " + std::to_string(first) + " " +
         actions[static_cast<int>(arrivals.front())] + " while thread " +
         std::to_string(other_thread) + " " + actions[static_cast<int>(*divergent)];
}

block_order::block_order(index_t blocks, random_stream& random)
    : blocks_(static_cast<std::uint64_t>(blocks)), first_(random.below(blocks_)) {
  do stride_ = 1 + random.below(blocks_);
  while (std::gcd(stride_, blocks_) != 1);
}

block_fault fault_in_block(index_t cluster, launch const& config, std::string const& message) {
  return block_fault("block " + std::to_string(cluster * config.cluster) + " of " +
                     std::to_string(config.blocks) + " (" + std::to_string(config.threads) +
                     " threads, seed " + std::to_string(config.seed) + "): " + message);
}

void run_blocks(launch const& config, thread_function thread, void const* kernel) {
  if (config.threads < 1 || config.threads > 1024)
    throw block_fault("a launch of " + std::to_string(config.threads) +
                      " threads per block, must be in 1..1024");
  if (config.blocks > max_blocks)
    throw block_fault("a launch of " + std::to_string(config.blocks) +
                      " blocks, too many to run here");
  if (config.blocks <= 0) return;
  if (config.cluster < 1 || config.blocks % config.cluster != 0)
    throw block_fault("a launch of " + std::to_string(config.blocks) + " blocks in clusters of " +
                      std::to_string(config.cluster));
  if (config.os_threads)
    run_with_threads(config, thread, kernel);
  else
    run_with_fibers(config, thread, kernel);
}

}  // namespace support
