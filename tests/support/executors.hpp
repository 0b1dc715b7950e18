// SPDX-License-Identifier: Apache-2.0
// Executors for exec::host_on that take the order of their slots seriously.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace support {

// One type for all ways of running slots, so that the operators are compiled for it once.
struct test_executor {
  enum class way { forwards, backwards, scattered, threads };
  way how = way::threads;
  std::function<void()> before{};  // called before slots run

  template <class F>
  void parallel_for(unsigned n, F const& f) {
    if (before) before();
    switch (how) {
      case way::forwards:
        for (unsigned i = 0; i < n; ++i) f(i);
        break;
      case way::backwards:
        for (unsigned i = n; i > 0; --i) f(i - 1);
        break;
      case way::scattered:  // the odd ones, then the even ones backwards
        for (unsigned i = 1; i < n; i += 2) f(i);
        for (unsigned i = (n + 1) / 2; i > 0; --i) f(2 * (i - 1));
        break;
      case way::threads: {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < n; ++i) threads.emplace_back([&f, i] { f(i); });
        for (std::thread& thread : threads) thread.join();
      }
    }
  }
};

struct executor_of_four : test_executor {
  unsigned concurrency() const { return 4; }
};

}  // namespace support
