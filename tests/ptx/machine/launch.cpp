// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include "cluster.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace ptx {

namespace {

// Makes this thread round to nearest and support subnormal numbers for its lifetime, like a device.
// A program that is linked with -ffast-math flushes them to zero.
class device_rounding {
 public:
  device_rounding() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~device_rounding() { std::fesetenv(&before_); }
  device_rounding(device_rounding const&) = delete;
  device_rounding& operator=(device_rounding const&) = delete;

 private:
  std::fenv_t before_;
};

// Runs the clusters of a grid on host threads, in ascending order, so a block can wait for data of
// an earlier block. Of several faults, reports the one in the first cluster.
class grid {
 public:
  grid(kernel const& k, launch const& config)
      : kernel_(k), config_(config), cluster_count_(config.grid.count() / config.cluster) {}

  void run() {
    std::uint64_t const thread_count =
        config_.options.global_races
            ? 1
            : std::min<std::uint64_t>(config_.options.threads, cluster_count_);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 1; i < thread_count; ++i)
      threads.emplace_back([this] { run_clusters(); });
    run_clusters();
    for (std::thread& t : threads) t.join();
    if (fault_) std::rethrow_exception(fault_);
  }
  counters counts;

 private:
  void run_clusters() {
    device_rounding const rounding;
    std::uint64_t cluster_index = 0;
    try {
      cluster machine(kernel_, config_, first_faulty_);
      while ((cluster_index = next_cluster_++) < cluster_count_) machine.run(cluster_index);
      std::lock_guard<std::mutex> const lock(mutex_);
      counts += machine.counts;
    } catch (...) {
      std::lock_guard<std::mutex> const lock(mutex_);
      if (!fault_ || cluster_index < first_faulty_) {
        fault_ = std::current_exception();
        first_faulty_ = cluster_index;
      }
      next_cluster_ = cluster_count_;
    }
  }

  kernel const& kernel_;
  launch const& config_;
  std::uint64_t const cluster_count_;
  std::atomic<std::uint64_t> next_cluster_{0};
  std::mutex mutex_;
  std::exception_ptr fault_;
  std::atomic<std::uint64_t> first_faulty_{~std::uint64_t{0}};  // the first cluster with a fault
};

}  // namespace

counters run(kernel const& k, launch const& config) {
  if (config.parameters.size() != k.parameter_bytes)
    throw fault(k.name + ": " + std::to_string(config.parameters.size()) +
                " bytes of parameters, the kernel takes " + std::to_string(k.parameter_bytes));
  grid g(k, config);
  g.run();
  g.counts.launches = 1;
  return g.counts;
}

}  // namespace ptx
