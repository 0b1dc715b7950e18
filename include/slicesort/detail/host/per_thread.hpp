// SPDX-License-Identifier: Apache-2.0
// The workspace of every thread of a call: one layout (detail/core/arena.hpp) for each slot.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>

SLICESORT_DETAIL_BEGIN

// `Shape`: the arguments of the layout's constructor behind the arena.
template <class Layout, class... Shape>
class per_thread {
 public:
  // `tasks` tasks cannot occupy more slots than that. Without any, the shape is not looked at.
  per_thread(arena& a, unsigned threads, amount tasks, Shape... shape) : shape_(shape...) {
    std::size_t const busy = std::min<std::size_t>(threads, tasks.number());
    arena counting;
    if (busy > 0) (void)Layout(counting, shape...);
    bytes_ = counting.aligned_bytes();
    memory_ = a.take<unsigned char>(amount(busy) * bytes_);
  }

  Layout operator[](unsigned slot) const {
    arena a = arena_of(slot);
    return std::apply([&a](Shape const&... shape) { return Layout(a, shape...); }, shape_);
  }
  // For a layout that needs no more than that.
  arena arena_of(unsigned slot) const { return arena(workspace{memory_ + slot * bytes_, bytes_}); }

 private:
  unsigned char* memory_;
  std::size_t bytes_;
  std::tuple<Shape...> shape_;
};

SLICESORT_DETAIL_END
