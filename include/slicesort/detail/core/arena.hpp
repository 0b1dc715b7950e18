// SPDX-License-Identifier: Apache-2.0
// One walk over the workspace, two uses: without memory it counts, with memory it carves.
//
// Whoever needs workspace writes the walk once, as a *layout*: a struct of pointers whose
// constructor takes an arena, and then all that the sizes depend on.
//
//   template <class T>
//   struct layout {
//     T *rows, *sums, *copy;
//     layout(detail::arena& a, extents3 e) : rows(a.take<T>(e.length)) {
//       a.overlap([&](detail::arena& first) { sums = first.take<T>(e.channels); },    // a layout
//                 [&](detail::arena& second) { copy = second.take<T>(e.length); });   // for each
//     }
//   };
//
// `plan` makes one over the arena that counts, `forward` and `backward` make one over the caller's
// memory, so the size query and the run cannot disagree. What every thread needs for itself is a
// layout too, of which `slots` (detail/host/slots.hpp) takes as many as there are threads.
#pragma once

#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace v0 {
namespace detail {

class arena {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line

  arena() = default;  // counts
  explicit arena(workspace w) {
    auto const address = reinterpret_cast<std::uintptr_t>(w.data);
    base_ = static_cast<unsigned char*>(w.data) + (alignment - address % alignment) % alignment;
    carving_ = true;
  }

  // `count` elements on a cache line of their own; null while counting.
  template <class T>
  T* take(std::size_t count) {
    std::size_t const offset = used_;
    used_ = round_up(offset + count * sizeof(T));
    return carving_ && count != 0 ? reinterpret_cast<T*>(base_ + offset) : nullptr;
  }

  // Two walks over the same bytes, of which only one is in use at a time: takes as many as the
  // larger of them.
  template <class First, class Second>
  void overlap(First const& first, Second const& second) {
    arena other = *this;
    first(*this);
    second(other);
    if (other.used_ > used_) used_ = other.used_;
  }

  // What the caller must bring, wherever its memory starts.
  std::size_t bytes() const { return used_ == 0 ? 0 : used_ + alignment - 1; }

 private:
  static constexpr std::size_t round_up(std::size_t n) {
    return (n + alignment - 1) / alignment * alignment;
  }

  unsigned char* base_ = nullptr;
  std::size_t used_ = 0;
  bool carving_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace slicesort
