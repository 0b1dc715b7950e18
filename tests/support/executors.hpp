// SPDX-License-Identifier: Apache-2.0
// Executors for exec::host_on that run the threads in various orders.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace support {

// One type for all schedules, so that operators are compiled for it once.
struct test_executor {
  enum class schedule { forwards, backwards, scattered, threads };
  schedule order = schedule::threads;
  std::function<void()> before{};  // called first
  std::function<void()> after{};   // called at the end of each thread

  template <class F>
  void parallel_for(unsigned n, F const& f) {
    if (before) before();
    auto const run = [&](unsigned i) {
      f(i);
      if (after) after();
    };
    switch (order) {
      case schedule::forwards:
        for (unsigned i = 0; i < n; ++i) run(i);
        break;
      case schedule::backwards:
        for (unsigned i = n; i > 0; --i) run(i - 1);
        break;
      case schedule::scattered:  // odd indices, then even ones backwards
        for (unsigned i = 1; i < n; i += 2) run(i);
        for (unsigned i = (n + 1) / 2; i > 0; --i) run(2 * (i - 1));
        break;
      case schedule::threads: {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < n; ++i) threads.emplace_back([&run, i] { run(i); });
        for (std::thread& thread : threads) thread.join();
      }
    }
  }
};

struct executor_of_four : test_executor {
  unsigned concurrency() const { return 4; }
};

}  // namespace support
