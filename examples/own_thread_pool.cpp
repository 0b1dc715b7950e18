// SPDX-License-Identifier: Apache-2.0
// The library starts no threads when it is given a pool. Anything with `parallel_for(n, f)` will
// do: f(i) must be called once for every i below n, and all calls must be done when it returns.
#include <slicesort/slicing_sort.hpp>

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ss = slicesort;

// [snippet]
// A small pool for one caller at a time. That caller works too: `pool(3)` runs four things at once.
class pool {
 public:
  explicit pool(unsigned helpers) {
    for (unsigned i = 0; i < helpers; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~pool() {
    {
      std::lock_guard<std::mutex> const hold(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  // Optional: into how many parts the library should cut its work.
  unsigned concurrency() const { return static_cast<unsigned>(threads_.size()) + 1; }

  template <class F>
  void parallel_for(unsigned n, F const& f) {
    std::unique_lock<std::mutex> hold(mutex_);
    job_ = [&f](unsigned i) { f(i); };
    next_ = 0, size_ = left_ = n;
    wake_.notify_all();
    work(hold);
    done_.wait(hold, [this] { return left_ == 0; });
  }

 private:
  void work(std::unique_lock<std::mutex>& hold) {
    while (next_ < size_) {
      unsigned const i = next_++;
      hold.unlock();
      job_(i);
      hold.lock();
      if (--left_ == 0) done_.notify_all();
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
  std::function<void(unsigned)> job_;
  unsigned next_ = 0, size_ = 0, left_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};
// [/snippet]

int main() {
  ss::extents3 const shape{8, 500, 40};
  std::vector<float> x;
  for (unsigned i = 0; i < 8 * 500 * 40; ++i)
    x.push_back(static_cast<float>(i * 2654435761u % 9973));
  std::vector<float> serial(x.size()), pooled(x.size());

  ss::slicing_sort<> const op;
  auto const sort = [&](auto const& exec, std::vector<float>& y) {
    // The workspace has one slot for every part that may run at the same time.
    ss::scratch memory;
    op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::no_saved, memory);
  };

  pool workers(3);
  ss::exec::host_on const exec(workers);
  sort(ss::exec::host{}, serial);
  sort(exec, pooled);
  std::printf("parts: %u\n", exec.threads);
  std::printf("same as on one thread: %s\n", serial == pooled ? "yes" : "no");
}

// output:
// parts: 4
// same as on one thread: yes
