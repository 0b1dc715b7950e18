// SPDX-License-Identifier: Apache-2.0
// Threads that live as long as a training run: it has thousands of short parallel loops a second,
// for which no thread is started and nothing allocated.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace learning {

/// A pool for one caller at a time, who works too; an executor of `slicesort::exec::host_on`.
class team {
 public:
  explicit team(unsigned threads) {
    for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  team(team const&) = delete;
  ~team() {
    {
      std::lock_guard<std::mutex> const hold(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  unsigned concurrency() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls f(i) once for every i below `count`, and returns when all are done.
  template <class F>
  void parallel_for(unsigned count, F const& f) {
    if (count <= 1 || threads_.empty()) {
      for (unsigned i = 0; i < count; ++i) f(i);
      return;
    }
    std::unique_lock<std::mutex> hold(mutex_);
    function_ = [](void const* of, unsigned i) { (*static_cast<F const*>(of))(i); };
    argument_ = &f;
    next_ = 0, size_ = left_ = count;
    wake_.notify_all();
    work(hold);
    done_.wait(hold, [this] { return left_ == 0; });
  }

 private:
  void work(std::unique_lock<std::mutex>& hold) {
    while (next_ < size_) {
      unsigned const i = next_++;
      hold.unlock();
      function_(argument_, i);
      hold.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }
  void serve() {
    std::unique_lock<std::mutex> hold(mutex_);
    while (!closing_) {
      work(hold);
      wake_.wait(hold, [this] { return closing_ || next_ < size_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  void (*function_)(void const*, unsigned) = nullptr;
  void const* argument_ = nullptr;
  unsigned next_ = 0, size_ = 0, left_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace learning
