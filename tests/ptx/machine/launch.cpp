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

// While it lives, this thread rounds to nearest and knows subnormal numbers, as a device does: a
// program that is linked with -ffast-math begins without them.
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

// Host threads take the clusters of a grid in turn: whoever waits for what an earlier block writes
// gets it. A fault in an earlier cluster goes before one in a later.
class grid {
 public:
  grid(kernel const& k, launch const& how)
      : k_(k), how_(how), count_(how.grid.count() / how.cluster) {}

  void run() {
    std::uint64_t const hosts =
        how_.watched.global_races ? 1 : std::min<std::uint64_t>(how_.watched.threads, count_);
    std::vector<std::thread> others;
    for (std::uint64_t i = 1; i < hosts; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& t : others) t.join();
    if (fault_) std::rethrow_exception(fault_);
  }
  counters counted;

 private:
  void work() {
    device_rounding const rounding;
    std::uint64_t number = 0;
    try {
      cluster machine(k_, how_, faulty_);
      while ((number = next_++) < count_) machine.run(number);
      std::lock_guard<std::mutex> const lock(ending_);
      counted += machine.counted;
    } catch (...) {
      std::lock_guard<std::mutex> const lock(ending_);
      if (!fault_ || number < faulty_) {
        fault_ = std::current_exception();
        faulty_ = number;
      }
      next_ = count_;
    }
  }

  kernel const& k_;
  launch const& how_;
  std::uint64_t const count_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex ending_;
  std::exception_ptr fault_;
  std::atomic<std::uint64_t> faulty_{~std::uint64_t{0}};  // the first cluster with a fault
};

}  // namespace

counters run(kernel const& k, launch const& how) {
  if (how.parameters.size() != k.parameter_bytes)
    throw fault(k.name + ": " + std::to_string(how.parameters.size()) +
                " bytes of parameters, the kernel takes " + std::to_string(k.parameter_bytes));
  grid g(k, how);
  g.run();
  g.counted.launches = 1;
  return g.counted;
}

}  // namespace ptx
