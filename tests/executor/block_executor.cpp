// SPDX-License-Identifier: Apache-2.0
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
    : bytes_(bytes), span_(bytes + (most_slices + 1) * zone) {
  memory_.resize(span_ + 16);
  auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
  base_ = memory_.data() + (16 - address % 16) % 16;
}
shared_pool::~shared_pool() { unpoison(base_, span_); }

void shared_pool::fill(unsigned char garbage) {
  unpoison(base_, span_);
  std::memset(base_, garbage, span_);
  poison(base_, span_);
  garbage_ = garbage;
  for (auto& bytes : taken_) bytes.store(0, std::memory_order_relaxed);
}

// Relaxed, and without a lock: the walk must not order the threads, or it would hide races.
void* shared_pool::take(cursor& at, std::size_t bytes) {
  auto const which = [&] { return "slice " + std::to_string(at.slice) + " of shared memory"; };
  std::size_t const end = at.used + slicesort::detail::shared_slice(bytes);
  if (at.slice == most_slices)
    throw block_fault(which() + ": the executor expects no more than 32");
  if (end > bytes_)
    throw block_fault(which() + " ends at byte " + std::to_string(end) + ", the launch asked for " +
                      std::to_string(bytes_));
  unsigned char* const slice = base_ + offset_of(at);
  auto& taken = taken_[at.slice];
  std::size_t before = taken.load(std::memory_order_relaxed);
  if (before == 0) {
    unpoison(slice, bytes);
    taken.compare_exchange_strong(before, bytes + 1, std::memory_order_relaxed);
  }
  if (before != 0 && before != bytes + 1)
    throw block_fault(which() + " has " + std::to_string(bytes) + " bytes in one thread, " +
                      std::to_string(before - 1) + " in another");
  ++at.slice;
  at.used = end;
  return slice;
}

void shared_pool::check() {
  unpoison(base_, span_);
  std::size_t from = 0;
  cursor at;
  for (;; ++at.slice) {
    std::size_t const taken =
        at.slice < most_slices ? taken_[at.slice].load(std::memory_order_relaxed) : 0;
    std::size_t const to = taken == 0 ? span_ : offset_of(at);
    if (!std::all_of(base_ + from, base_ + to, [&](unsigned char b) { return b == garbage_; }))
      throw block_fault(at.slice == 0
                            ? std::string("shared memory overrun: something wrote before slice 0")
                            : "shared memory overrun: something wrote past the end of slice " +
                                  std::to_string(at.slice - 1));
    if (taken == 0) return;
    from = to + taken - 1;
    at.used += slicesort::detail::shared_slice(taken - 1);
  }
}

std::string disagreement(std::vector<arrival> const& arrivals, std::size_t first) {
  auto const other = std::find_if(arrivals.begin(), arrivals.end(),
                                  [&](arrival a) { return a != arrivals.front(); });
  if (other == arrivals.end()) return {};
  constexpr char const* does[] = {"ends", "waits for its warp", "waits at sync()", "waits at any()",
                                  "waits at sync_cluster()"};
  std::size_t const one = first + static_cast<std::size_t>(other - arrivals.begin());
  return "divergent barrier: thread " + std::to_string(first) + " " +
         does[static_cast<int>(arrivals.front())] + " while thread " + std::to_string(one) + " " +
         does[static_cast<int>(*other)];
}

block_order::block_order(index_t blocks, random_stream& random)
    : blocks_(static_cast<std::uint64_t>(blocks)), first_(random.below(blocks_)) {
  do step_ = 1 + random.below(blocks_);
  while (std::gcd(step_, blocks_) != 1);
}

block_fault in_block(index_t cluster, launch const& how, std::string const& what) {
  return block_fault("block " + std::to_string(cluster * how.cluster) + " of " +
                     std::to_string(how.blocks) + " (" + std::to_string(how.threads) +
                     " threads, seed " + std::to_string(how.seed) + "): " + what);
}

void run_blocks(launch const& how, thread_function thread, void const* kernel) {
  if (how.threads < 1 || how.threads > 1024)
    throw block_fault("a launch of " + std::to_string(how.threads) +
                      " threads per block, must be in 1..1024");
  if (how.blocks > most_blocks)
    throw block_fault("a launch of " + std::to_string(how.blocks) +
                      " blocks, too many to run here");
  if (how.blocks <= 0) return;
  if (how.cluster < 1 || how.blocks % how.cluster != 0)
    throw block_fault("a launch of " + std::to_string(how.blocks) + " blocks in clusters of " +
                      std::to_string(how.cluster));
  if (how.os_threads)
    run_with_threads(how, thread, kernel);
  else
    run_with_fibers(how, thread, kernel);
}

}  // namespace support
