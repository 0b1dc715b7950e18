// SPDX-License-Identifier: Apache-2.0
// The memory of a step: one block, allocated once. What forward keeps for backward grows from its
// lower end, scratch from its upper one.
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

/// Memory of a step. It begins by counting: the same calls as in a step then return null and add up
/// what the step needs. `allocate` ends that, and from then on nothing is allocated.
class memory {
 public:
  bool counting() const { return block_ == nullptr; }
  /// Bytes that the greatest step so far needs.
  std::size_t bytes() const { return most_; }
  void allocate() {
    size_ = most_;
    block_.reset(static_cast<std::byte*>(::operator new(std::max(size_, line), align)));
    clear();
  }
  /// Forgets what was kept: at the beginning of a step.
  void clear() { kept_ = scratch_ = 0; }

  /// Memory until the next `clear`. Not initialized.
  template <class T>
  T* keep(index_t count) {
    std::size_t const at = kept_;
    grow(kept_, bytes_of<T>(count));
    return counting() ? nullptr : reinterpret_cast<T*>(block_.get() + at);
  }
  /// Memory until the end of the surrounding `scope`. Not initialized.
  template <class T>
  T* scratch(index_t count) {
    grow(scratch_, bytes_of<T>(count));
    return counting() ? nullptr : reinterpret_cast<T*>(block_.get() + (size_ - scratch_));
  }

  /// Gives scratch back that was taken in its lifetime.
  class scope {
   public:
    explicit scope(memory& of) : of_(of), before_(of.scratch_) {}
    scope(scope const&) = delete;
    ~scope() { of_.scratch_ = before_; }

   private:
    memory& of_;
    std::size_t before_;
  };

 private:
  static constexpr std::size_t line = 64;  // of a cache, and of a vector
  static constexpr std::align_val_t align{line};

  template <class T>
  static std::size_t bytes_of(index_t count) {
    if (static_cast<std::size_t>(count) > PTRDIFF_MAX / sizeof(T) - line) throw std::bad_alloc();
    return (static_cast<std::size_t>(count) * sizeof(T) + line - 1) / line * line;
  }
  void grow(std::size_t& side, std::size_t by) {
    if (by > PTRDIFF_MAX - kept_ - scratch_) throw std::bad_alloc();
    side += by;
    if (!counting() && kept_ + scratch_ > size_)
      throw std::logic_error("learning::memory: a step needs more than the one that was counted");
    most_ = std::max(most_, kept_ + scratch_);
  }

  struct release {
    void operator()(std::byte* block) const { ::operator delete(block, align); }
  };
  std::unique_ptr<std::byte, release> block_;
  std::size_t size_ = 0, kept_ = 0, scratch_ = 0, most_ = 0;
};

}  // namespace learning
