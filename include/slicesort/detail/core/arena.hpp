// SPDX-License-Identifier: Apache-2.0
// A bump allocator for workspaces. An arena without memory only counts bytes, so the same code
// computes the size of a workspace and lays it out.
//
// This code is a *layout*: a struct of pointers whose constructor takes an arena, followed by the
// parameters that determine the sizes.
//
//   template <class T>
//   struct layout {
//     T *rows, *sums, *copy;
//     layout(detail::arena& memory, extents3 e) : rows(memory.take<T>(e.length)) {
//       memory.overlap([&](detail::arena& first) { sums = first.take<T>(e.channels); },
//                      [&](detail::arena& second) { copy = second.take<T>(e.length); });
//     }
//   };
//
// `plan` constructs the layout over a counting arena, `forward` and `backward` over the caller's
// memory, so the size query and the run cannot disagree. `per_thread` (detail/host/per_thread.hpp)
// allocates one layout for every thread.
#pragma once

#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

SLICESORT_DETAIL_BEGIN

// Number of elements or bytes with saturating arithmetic: an overflow yields 2^64 - 1, which
// exceeds every workspace.
class amount {
 public:
  static constexpr std::size_t max = std::numeric_limits<std::size_t>::max();

  constexpr amount(std::size_t n) : value_(n) {}
  constexpr amount(index_t n) : value_(static_cast<std::size_t>(n)) {}
  constexpr amount(int n) : value_(static_cast<std::size_t>(n)) {}

  constexpr std::size_t value() const { return value_; }
  friend constexpr amount operator+(amount a, amount b) {
    return a.value_ > max - b.value_ ? amount(max) : amount(a.value_ + b.value_);
  }
  friend constexpr amount operator*(amount a, amount b) {
    return a.value_ != 0 && b.value_ > max / a.value_ ? amount(max) : amount(a.value_ * b.value_);
  }

 private:
  std::size_t value_;
};

// Allocates from a workspace, or only counts bytes.
class arena {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line

  arena() = default;  // has no memory, only counts
  explicit arena(workspace memory) {
    auto const address = reinterpret_cast<std::uintptr_t>(memory.data);
    base_ =
        static_cast<unsigned char*>(memory.data) + (alignment - address % alignment) % alignment;
    has_memory_ = true;
  }

  // Allocates `count` elements that start on a cache line; null while counting.
  template <class T>
  T* take(amount count) {
    std::size_t const offset = used_;
    used_ = round_up((offset + count * sizeof(T)).value());
    return has_memory_ && count.value() != 0 ? reinterpret_cast<T*>(base_ + offset) : nullptr;
  }

  // Allocates two layouts in the same bytes. They must not be in use at the same time.
  template <class First, class Second>
  void overlap(First const& first, Second const& second) {
    arena other = *this;
    first(*this);
    second(other);
    if (other.used_ > used_) used_ = other.used_;
  }

  // Number of bytes allocated so far, for memory that starts on a cache line.
  std::size_t aligned_bytes() const { return used_; }
  // Number of bytes allocated so far plus padding, for memory that starts at any address.
  std::size_t bytes() const {
    // nvcc 13.0 drops the parentheses of `amount(used_) + (alignment - 1)`.
    return used_ == 0 ? 0 : (amount(used_) + amount(alignment - 1)).value();
  }

 private:
  static constexpr std::size_t round_up(std::size_t n) {
    return n > amount::max - (alignment - 1) ? amount::max
                                             : (n + alignment - 1) / alignment * alignment;
  }

  unsigned char* base_ = nullptr;
  std::size_t used_ = 0;
  bool has_memory_ = false;
};

SLICESORT_DETAIL_END
