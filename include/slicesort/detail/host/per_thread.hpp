// SPDX-License-Identifier: Apache-2.0
// Per-thread workspace: one layout (detail/core/arena.hpp) for each thread of a call.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>

SLICESORT_DETAIL_BEGIN

// `Shape` lists the types of the layout's constructor arguments after the arena.
template <class Layout, class... Shape>
class per_thread {
 public:
  // Allocates memory for at most `tasks` threads. Ignores the shape if there are no tasks.
  per_thread(arena& memory, unsigned threads, amount tasks, Shape... shape) : shape_(shape...) {
    std::size_t const busy_threads = std::min<std::size_t>(threads, tasks.value());
    arena counting;
    if (busy_threads > 0) (void)Layout(counting, shape...);
    bytes_ = counting.aligned_bytes();
    memory_ = memory.take<unsigned char>(amount(busy_threads) * bytes_);
  }

  Layout operator[](unsigned thread) const {
    arena thread_memory = arena_of(thread);
    return std::apply(
        [&thread_memory](Shape const&... shape) { return Layout(thread_memory, shape...); },
        shape_);
  }
  // Arena of a thread, for a different layout that needs no more memory.
  arena arena_of(unsigned thread) const {
    return arena(workspace{memory_ + thread * bytes_, bytes_});
  }

 private:
  unsigned char* memory_;
  std::size_t bytes_;
  std::tuple<Shape...> shape_;
};

SLICESORT_DETAIL_END
