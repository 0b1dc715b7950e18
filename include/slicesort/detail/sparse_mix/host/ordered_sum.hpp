// SPDX-License-Identifier: Apache-2.0
// Orders the additions of tasks to shared sums, so results do not depend on threads. Tasks start in
// this order, and a task waits only for earlier tasks, so there is no deadlock.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/tensor_view.hpp>

#include <atomic>
#include <cstddef>
#include <new>

SLICESORT_DETAIL_BEGIN

// Number of finished additions to each of rows * columns sums.
class ordered_sum {
 public:
  ordered_sum(arena& memory, index_t rows, index_t columns)
      : count_((amount(rows) * columns).value()),
        done_(memory.take<std::atomic<index_t>>(count_)) {}

  // Resets the counts. Must be called before the tasks start.
  void reset() const {
    for (std::size_t i = 0; i < count_; ++i)
      ::new (static_cast<void*>(done_ + i)) std::atomic<index_t>(0);
  }
  void wait_for(index_t sum_index, index_t additions) const {
    if (count_ == 0) return;
    while (done_[sum_index].load(std::memory_order_acquire) < additions) {
#if SLICESORT_X86_DISPATCH
      __builtin_ia32_pause();
#endif
    }
  }
  void finish(index_t sum_index, index_t additions) const {
    if (count_ != 0) done_[sum_index].store(additions, std::memory_order_release);
  }

 private:
  std::size_t count_;
  std::atomic<index_t>* done_;
};

SLICESORT_DETAIL_END
