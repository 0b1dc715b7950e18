// SPDX-License-Identifier: Apache-2.0
// One fiber per CUDA thread: fast, and a seed determines the schedule.
#include "fiber.hpp"
#include "teams.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <numeric>
#include <utility>

namespace support {

namespace {

// The fibers' stacks are reused by the next launch.
fiber& reusable_fiber(int i) {
  thread_local std::deque<fiber> fibers;
  while (fibers.size() <= static_cast<std::size_t>(i)) fibers.emplace_back();
  return fibers[static_cast<std::size_t>(i)];
}

class fiber_team final : public block_team {
 public:
  fiber_team(launch const& config, thread_function thread, void const* kernel)
      : block_team(config),
        thread_(thread),
        kernel_(kernel),
        arrivals_(static_cast<std::size_t>(config.threads * config.cluster)),
        votes_(static_cast<std::size_t>(config.cluster)),
        any_votes_(votes_.size()) {
    for (int i = 0; i < config.threads * config.cluster; ++i) {
      fibers_.push_back(&reusable_fiber(i));
      threads_.push_back({this, i});
    }
    order_.resize(fibers_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  bool arrive(int thread, arrival event, bool vote) override {
    auto const i = static_cast<std::size_t>(thread), block = i / block_size();
    arrivals_[i] = event;
    votes_[block] = votes_[block] | static_cast<unsigned char>(vote);
    fibers_[i]->pause();
    return any_votes_[block] != 0;
  }

  void run_cluster(index_t cluster, random_stream& random) {
    cluster_ = cluster;
    for (int b = 0; b < blocks(); ++b)
      pool(b).fill(static_cast<unsigned char>(1 + random.below(255)));
    std::vector<bool> is_waiting(votes_.size());  // true if the block waits for the others
    for (std::size_t i = 0; i < fibers_.size(); ++i)
      fibers_[i]->start(&fiber_team::run_thread, &threads_[i]);
    for (;;) {
      for (std::size_t i = order_.size(); i > 1; --i)
        std::swap(order_[i - 1], order_[random.below(i)]);
      for (std::size_t i : order_)
        if (!is_waiting[i / block_size()]) run_to_barrier(i, random);
      std::vector<arrival> events(votes_.size());
      for (std::size_t b = 0; b < events.size(); ++b) {
        events[b] = arrivals_[b * block_size()];
        require_agreement_in_block(b);
        any_votes_[b] = votes_[b];
        votes_[b] = 0;
        is_waiting[b] = events[b] == arrival::end || events[b] == arrival::cluster;
      }
      if (std::count(is_waiting.begin(), is_waiting.end(), false) != 0) continue;
      require_agreement(arrivals_);
      if (events.front() == arrival::end) break;
      is_waiting.assign(is_waiting.size(), false);
    }
    for (int b = 0; b < blocks(); ++b) pool(b).check();
  }

 private:
  struct thread_argument {
    fiber_team* team;
    int thread;
  };
  std::size_t block_size() const { return static_cast<std::size_t>(size()); }

  void resume(std::size_t thread) {
    arrivals_[thread] = arrival::end;
    fibers_[thread]->resume();
    if (failure_) std::rethrow_exception(failure_);
  }
  // Runs a thread. If it is the last of its warp to arrive at a warp barrier, runs the whole warp
  // until its next barrier.
  void run_to_barrier(std::size_t thread, random_stream& random) {
    resume(thread);
    if (arrivals_[thread] != arrival::warp) return;
    constexpr auto size = static_cast<std::size_t>(warp_threads);
    std::size_t const first = thread / size * size;
    auto const lanes = arrivals_.begin() + static_cast<std::ptrdiff_t>(first);
    while (std::count(lanes, lanes + warp_threads, arrival::warp) == warp_threads) {
      block_order const order(warp_threads, random);
      for (index_t i = 0; i < warp_threads; ++i) resume(first + static_cast<std::size_t>(order(i)));
    }
  }

  static void require_agreement(std::vector<arrival> const& arrivals, std::size_t first = 0) {
    std::string const message = describe_divergence(arrivals, first);
    if (!message.empty()) throw block_fault(message);
  }
  // Checks each warp, then the block.
  void require_agreement_in_block(std::size_t block) const {
    auto const begin = arrivals_.begin() + static_cast<std::ptrdiff_t>(block * block_size());
    if (std::count(begin, begin + size(), *begin) == size()) return;
    for (int first = 0; first < size(); first += warp_threads)
      require_agreement({begin + first, begin + std::min(first + warp_threads, size())},
                        static_cast<std::size_t>(first));
    require_agreement({begin, begin + size()});
  }
  static void run_thread(void* argument) {
    auto const [team, thread] = *static_cast<thread_argument*>(argument);
    try {
      team->thread_(team->kernel_, *team, thread, team->cluster_);
    } catch (...) {
      team->failure_ = std::current_exception();
    }
  }

  thread_function thread_;
  void const* kernel_;
  std::vector<fiber*> fibers_;
  std::vector<thread_argument> threads_;
  std::vector<std::size_t> order_;  // order of the threads until the next barrier
  std::vector<arrival> arrivals_;
  index_t cluster_ = 0;
  std::vector<unsigned char> votes_;      // by block: the vote of the threads so far
  std::vector<unsigned char> any_votes_;  // by block: result of its last barrier
  std::exception_ptr failure_;
};

}  // namespace

void run_with_fibers(launch const& config, thread_function thread, void const* kernel) {
  random_stream random(config.seed);
  index_t const clusters = config.blocks / config.cluster;
  block_order const order(clusters, random);
  fiber_team team(config, thread, kernel);
  for (index_t i = 0; i < clusters; ++i) {
    index_t const cluster = order(i);
    try {
      team.run_cluster(cluster, random);
    } catch (block_fault const& fault) {
      throw fault_in_block(cluster, config, fault.what());
    }
  }
}

}  // namespace support
