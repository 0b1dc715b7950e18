// SPDX-License-Identifier: Apache-2.0
// Thread pool of the examples and the training program, which run thousands of short loops a
// second. A loop starts no thread and allocates nothing; exec::host starts threads for each call.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

/// Executor for `slicesort::exec::host_on`. One thread at a time may call it, and counts as one of
/// `threads`. The pool has fewer threads if the system cannot start more.
class thread_pool {
 public:
  explicit thread_pool(unsigned threads) {
    try {
      for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
    } catch (std::system_error const&) {
    }
  }
  thread_pool(thread_pool const&) = delete;
  ~thread_pool() {
    {
      std::lock_guard<std::mutex> const lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  /// Optional for an executor: the number of tasks that an operator splits its work into.
  unsigned concurrency() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls f(i) once for every i below `count` and returns when all calls are done. Rethrows the
  /// first exception.
  template <class F>
  void parallel_for(unsigned count, F const& f) {
    if (count <= 1 || threads_.empty()) {
      for (unsigned i = 0; i < count; ++i) f(i);
      return;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    function_ = [](void const* function, unsigned i) { (*static_cast<F const*>(function))(i); };
    argument_ = &f;
    next_ = 0, size_ = unfinished_ = count;
    wake_.notify_all();
    work(lock);
    done_.wait(lock, [this] { return unfinished_ == 0; });
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  void work(std::unique_lock<std::mutex>& lock) {
    while (next_ < size_) {
      unsigned const i = next_++;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        function_(argument_, i);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !thrown_) thrown_ = thrown;
      if (--unfinished_ == 0) done_.notify_one();
    }
  }
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!closing_) {
      work(lock);
      wake_.wait(lock, [this] { return closing_ || next_ < size_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  void (*function_)(void const*, unsigned) = nullptr;
  void const* argument_ = nullptr;
  unsigned next_ = 0, size_ = 0, unfinished_ = 0;
  bool closing_ = false;
  std::exception_ptr thrown_;
  std::vector<std::thread> threads_;
};
