// SPDX-License-Identifier: Apache-2.0
// One std::thread per CUDA thread, for ThreadSanitizer. They wait for each other at barriers, so a
// pool of fewer threads cannot run them. Two teams share the blocks and run at the same time, which
// reveals races between blocks.
#include "teams.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace support {

namespace {

struct canceled {};

// A barrier that records at which event each thread arrived.
class team_barrier {
 public:
  // A barrier of `size` threads, the first of which has rank `first` in its block.
  team_barrier(int size, int first)
      : size_(size),
        first_rank_(static_cast<std::size_t>(first)),
        barriers_passed_(static_cast<std::size_t>(size)) {
    for (phase& p : phases_) p.arrivals.resize(barriers_passed_.size());
  }

  bool arrive(int rank, arrival event, bool vote) {
    // Alternates between two phases with separate locks. A thread that leaves one phase late must
    // not be ordered after the other threads' work before the next.
    unsigned& barriers_passed = barriers_passed_[static_cast<std::size_t>(rank)];
    phase& p = phases_[barriers_passed % 2];
    unsigned const round = barriers_passed / 2;
    ++barriers_passed;
    std::unique_lock<std::mutex> lock(p.mutex);
    if (p.has_failed) throw canceled{};
    p.arrivals[static_cast<std::size_t>(rank)] = event;
    p.vote = p.vote || vote;
    if (++p.arrived == size_) {
      std::string const message = describe_divergence(p.arrivals, first_rank_);
      if (!message.empty()) throw block_fault(message);
      p.any_vote = p.vote;
      p.vote = false;
      p.arrived = 0;
      p.round = round + 1;
      p.all_arrived.notify_all();
    } else {
      p.all_arrived.wait(lock, [&] { return p.round == round + 1 || p.has_failed; });
      if (p.round != round + 1) throw canceled{};
    }
    return p.any_vote;
  }
  // Wakes all waiting threads after a fault; they throw `canceled`.
  void fail() {
    for (phase& p : phases_) {
      std::lock_guard<std::mutex> const lock(p.mutex);
      p.has_failed = true;
      p.all_arrived.notify_all();
    }
  }

 private:
  struct phase {
    std::mutex mutex;
    std::condition_variable all_arrived;
    std::vector<arrival> arrivals;
    int arrived = 0;
    unsigned round = 0;
    bool vote = false, any_vote = false, has_failed = false;
  };
  int size_;
  std::size_t first_rank_;
  phase phases_[2];
  std::vector<unsigned> barriers_passed_;  // number of barriers passed, by thread
};

class thread_team final : public block_team {
 public:
  explicit thread_team(launch const& config)
      : block_team(config), cluster_barrier_(config.threads * config.cluster, 0) {
    for (int b = 0; b < config.cluster; ++b) {
      block_barriers_.emplace_back(config.threads, 0);
      for (int first = 0; first < config.threads; first += warp_threads)
        warp_barriers_.emplace_back(std::min(warp_threads, config.threads - first), first);
    }
  }

  // First the threads of a warp must agree, then all threads of the block.
  bool arrive(int thread, arrival event, bool vote) override {
    int const block = thread / size(), rank = thread % size();
    int const warp = block * warps_per_block(size()) + rank / warp_threads;
    warp_barriers_[static_cast<std::size_t>(warp)].arrive(rank % warp_threads, event, false);
    if (event == arrival::warp) return false;
    bool const any_vote =
        block_barriers_[static_cast<std::size_t>(block)].arrive(rank, event, vote);
    if (event == arrival::end || event == arrival::cluster)
      cluster_barrier_.arrive(thread, event, false);
    return any_vote;
  }

  void fail(std::exception_ptr error) {
    std::lock_guard<std::mutex> const lock(failure_mutex_);
    if (!failure_) failure_ = error;
    for (auto* const barriers : {&warp_barriers_, &block_barriers_})
      for (team_barrier& barrier : *barriers) barrier.fail();
    cluster_barrier_.fail();
  }
  std::exception_ptr failure() const { return failure_; }

 private:
  std::deque<team_barrier> warp_barriers_, block_barriers_;
  team_barrier cluster_barrier_;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

// Runs one thread through its team's clusters: the one at index `first`, then every second one.
void run_thread(launch const& config, thread_function function, void const* kernel,
                thread_team& team, int thread, block_order const& order, index_t first) {
  random_stream garbage_tensor(config.seed + static_cast<std::uint64_t>(first));
  shared_pool& pool = team.pool(thread / config.threads);
  bool const is_leader = thread % config.threads == 0;
  index_t cluster = 0;
  try {
    for (index_t i = first; i < config.blocks / config.cluster; i += 2) {
      cluster = order(i);
      if (is_leader) pool.fill(static_cast<unsigned char>(1 + garbage_tensor.below(255)));
      team.arrive(thread, arrival::cluster, false);
      function(kernel, team, thread, cluster);
      team.arrive(thread, arrival::end, false);
      if (is_leader) pool.check();
    }
  } catch (block_fault const& fault) {
    team.fail(std::make_exception_ptr(fault_in_block(cluster, config, fault.what())));
  } catch (canceled) {
  } catch (...) {
    team.fail(std::current_exception());
  }
}

}  // namespace

void run_with_threads(launch const& config, thread_function thread, void const* kernel) {
  random_stream random(config.seed);
  index_t const clusters = config.blocks / config.cluster;
  block_order const order(clusters, random);
  thread_team teams[] = {thread_team(config), thread_team(config)};
  std::vector<std::thread> threads;
  for (index_t t = 0; t < 2 && t < clusters; ++t)
    for (int i = 0; i < config.threads * config.cluster; ++i)
      threads.emplace_back(
          [&, t, i] { run_thread(config, thread, kernel, teams[t], i, order, t); });
  for (std::thread& t : threads) t.join();
  for (thread_team const& team : teams)
    if (team.failure()) std::rethrow_exception(team.failure());
}

}  // namespace support
