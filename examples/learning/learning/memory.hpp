// SPDX-License-Identifier: Apache-2.0
// The memory of a step: one allocation. Memory that is kept for backward grows from the low end,
// scratch memory from the high end.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>

namespace learning {

using slicesort::index_t;

/// Memory of a step. In the initial counting mode, calls return null and only measure the size
/// that a step needs. `allocate` ends that mode; nothing is allocated afterwards.
class memory {
 public:
  bool is_counting() const { return block_ == nullptr; }
  /// Bytes that the largest step so far needs.
  std::size_t bytes() const { return peak_; }
  void allocate() {
    size_ = peak_;
    block_.reset(static_cast<std::byte*>(::operator new(std::max(size_, line), align)));
    clear();
  }
  /// Releases all memory, at the beginning of a step.
  void clear() { kept_ = scratch_ = 0; }

  /// Returns uninitialized memory, valid until the next `clear`.
  template <class T>
  T* keep(index_t count) {
    std::size_t const offset = kept_;
    grow(kept_, bytes_of<T>(count));
    return is_counting() ? nullptr : reinterpret_cast<T*>(block_.get() + offset);
  }
  /// Returns uninitialized memory, valid until the end of the enclosing `scope`.
  template <class T>
  T* scratch(index_t count) {
    grow(scratch_, bytes_of<T>(count));
    return is_counting() ? nullptr : reinterpret_cast<T*>(block_.get() + (size_ - scratch_));
  }

  /// Releases scratch memory that was allocated in its lifetime.
  class scope {
   public:
    explicit scope(memory& memory) : memory_(memory), saved_(memory.scratch_) {}
    scope(scope const&) = delete;
    ~scope() { memory_.scratch_ = saved_; }

   private:
    memory& memory_;
    std::size_t saved_;
  };

 private:
  static constexpr std::size_t line = 64;  // bytes of a cache line
  static constexpr std::align_val_t align{line};

  template <class T>
  static std::size_t bytes_of(index_t count) {
    if (static_cast<std::size_t>(count) > PTRDIFF_MAX / sizeof(T) - line) throw std::bad_alloc();
    return (static_cast<std::size_t>(count) * sizeof(T) + line - 1) / line * line;
  }
  void grow(std::size_t& used, std::size_t bytes) {
    if (bytes > PTRDIFF_MAX - kept_ - scratch_) throw std::bad_alloc();
    used += bytes;
    if (!is_counting() && kept_ + scratch_ > size_)
      throw std::logic_error("learning::memory: a step needs more than the one that was counted");
    peak_ = std::max(peak_, kept_ + scratch_);
  }

  struct release {
    void operator()(std::byte* block) const { ::operator delete(block, align); }
  };
  std::unique_ptr<std::byte, release> block_;
  std::size_t size_ = 0, kept_ = 0, scratch_ = 0, peak_ = 0;
};

}  // namespace learning
