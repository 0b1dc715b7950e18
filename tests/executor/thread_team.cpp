// SPDX-License-Identifier: Apache-2.0
// One std::thread per CUDA thread, for ThreadSanitizer. They wait for each other at barriers, so no
// pool of fewer threads can run them. Two teams share the blocks and run at the same time, so that
// it sees what two blocks do to each other.
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

// A barrier that knows who came for what.
class meeting {
 public:
  // Of `size` threads, the first of which has the number `first` in its block.
  meeting(int size, int first)
      : size_(size),
        first_(static_cast<std::size_t>(first)),
        passed_(static_cast<std::size_t>(size)) {
    for (phase& p : phases_) p.arrivals.resize(passed_.size());
  }

  bool arrive(int who, arrival how, bool vote) {
    // Two phases in turn, each with a lock of its own: whoever is late to leave one must not be
    // ordered after what the others did before they came to the next.
    unsigned& passed = passed_[static_cast<std::size_t>(who)];
    phase& p = phases_[passed % 2];
    unsigned const round = passed / 2;
    ++passed;
    std::unique_lock<std::mutex> lock(p.mutex);
    if (p.failed) throw canceled{};
    p.arrivals[static_cast<std::size_t>(who)] = how;
    p.vote = p.vote || vote;
    if (++p.arrived == size_) {
      std::string const wrong = disagreement(p.arrivals, first_);
      if (!wrong.empty()) throw block_fault(wrong);
      p.status = p.vote;
      p.vote = false;
      p.arrived = 0;
      p.round = round + 1;
      p.all_here.notify_all();
    } else {
      p.all_here.wait(lock, [&] { return p.round == round + 1 || p.failed; });
      if (p.round != round + 1) throw canceled{};
    }
    return p.status;
  }
  // Nobody waits any more, for what will not come.
  void fail() {
    for (phase& p : phases_) {
      std::lock_guard<std::mutex> const lock(p.mutex);
      p.failed = true;
      p.all_here.notify_all();
    }
  }

 private:
  struct phase {
    std::mutex mutex;
    std::condition_variable all_here;
    std::vector<arrival> arrivals;
    int arrived = 0;
    unsigned round = 0;
    bool vote = false, status = false, failed = false;
  };
  int size_;
  std::size_t first_;
  phase phases_[2];
  std::vector<unsigned> passed_;  // barriers, by thread
};

class thread_team final : public block_team {
 public:
  explicit thread_team(launch const& how)
      : block_team(how), in_cluster_(how.threads * how.cluster, 0) {
    for (int b = 0; b < how.cluster; ++b) {
      in_block_.emplace_back(how.threads, 0);
      for (int first = 0; first < how.threads; first += warp_threads)
        in_warp_.emplace_back(std::min(warp_threads, how.threads - first), first);
    }
  }

  // A warp first agrees in itself what its threads wait for, then a block.
  bool arrive(int thread, arrival how, bool vote) override {
    int const block = thread / size(), rank = thread % size();
    int const warp = block * warps_of(size()) + rank / warp_threads;
    in_warp_[static_cast<std::size_t>(warp)].arrive(rank % warp_threads, how, false);
    if (how == arrival::warp) return false;
    bool const status = in_block_[static_cast<std::size_t>(block)].arrive(rank, how, vote);
    if (how == arrival::end || how == arrival::cluster) in_cluster_.arrive(thread, how, false);
    return status;
  }

  void fail(std::exception_ptr what) {
    std::lock_guard<std::mutex> const first(failing_);
    if (!failure_) failure_ = what;
    for (auto* const meetings : {&in_warp_, &in_block_})
      for (meeting& m : *meetings) m.fail();
    in_cluster_.fail();
  }
  std::exception_ptr failure() const { return failure_; }

 private:
  std::deque<meeting> in_warp_, in_block_;
  meeting in_cluster_;
  std::mutex failing_;
  std::exception_ptr failure_;
};

// One thread of a team through the team's share of the clusters: number `first`, then every other.
void run_thread(launch const& how, thread_function function, void const* kernel, thread_team& team,
                int thread, block_order const& order, index_t first) {
  random_stream garbage(how.seed + static_cast<std::uint64_t>(first));
  shared_pool& pool = team.pool(thread / how.threads);
  bool const leads = thread % how.threads == 0;
  index_t cluster = 0;
  try {
    for (index_t i = first; i < how.blocks / how.cluster; i += 2) {
      cluster = order(i);
      if (leads) pool.fill(static_cast<unsigned char>(1 + garbage.below(255)));
      team.arrive(thread, arrival::cluster, false);
      function(kernel, team, thread, cluster);
      team.arrive(thread, arrival::end, false);
      if (leads) pool.check();
    }
  } catch (block_fault const& fault) {
    team.fail(std::make_exception_ptr(in_block(cluster, how, fault.what())));
  } catch (canceled) {
  } catch (...) {
    team.fail(std::current_exception());
  }
}

}  // namespace

void run_with_threads(launch const& how, thread_function thread, void const* kernel) {
  random_stream random(how.seed);
  index_t const clusters = how.blocks / how.cluster;
  block_order const order(clusters, random);
  thread_team teams[] = {thread_team(how), thread_team(how)};
  std::vector<std::thread> threads;
  for (index_t t = 0; t < 2 && t < clusters; ++t)
    for (int i = 0; i < how.threads * how.cluster; ++i)
      threads.emplace_back([&, t, i] { run_thread(how, thread, kernel, teams[t], i, order, t); });
  for (std::thread& t : threads) t.join();
  for (thread_team const& team : teams)
    if (team.failure()) std::rethrow_exception(team.failure());
}

}  // namespace support
