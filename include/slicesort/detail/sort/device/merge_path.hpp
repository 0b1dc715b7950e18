// SPDX-License-Identifier: Apache-2.0
// Merge path: splits the merge of two sorted runs into independent ranges of the output.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <utility>

SLICESORT_DETAIL_BEGIN

// Returns how many of the first `diagonal` output elements come from a. a(i) and b(i) return keys;
// in a tie, a comes first.
template <class Run>
SLICESORT_HD index_t merge_path(Run const& a, index_t a_size, Run const& b, index_t b_size,
                                index_t diagonal) {
  index_t low = diagonal > b_size ? diagonal - b_size : 0;
  index_t high = diagonal < a_size ? diagonal : a_size;
  while (low < high) {
    index_t const middle = low + (high - low) / 2;
    if (a(middle) <= b(diagonal - 1 - middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Iterates over the merge of a and b from output element `diagonal` on. A Run is a function that
// returns the key of a row.
template <class Run>
class merge_iterator {
  using key = decltype(std::declval<Run const&>()(index_t{}));

 public:
  SLICESORT_HD_INLINE merge_iterator(Run const& a, int a_size, Run const& b, int b_size,
                                     int diagonal)
      : a_(a),
        b_(b),
        a_size_(a_size),
        b_size_(b_size),
        i_(static_cast<int>(merge_path(a, a_size, b, b_size, diagonal))),
        j_(diagonal - i_),
        a_key_(i_ < a_size ? a(i_) : key{0}),
        b_key_(j_ < b_size ? b(j_) : key{0}) {}

  // True if the next element comes from a; also true past the end of both runs.
  SLICESORT_HD_INLINE bool next_is_a() const {
    return j_ >= b_size_ || (i_ < a_size_ && a_key_ <= b_key_);
  }
  SLICESORT_HD_INLINE int a_row() const { return i_; }
  SLICESORT_HD_INLINE int b_row() const { return j_; }
  // Call with the result of next_is_a().
  SLICESORT_HD_INLINE void advance(bool take_a) {
    if (take_a) {
      ++i_;
      if (i_ < a_size_) a_key_ = a_(i_);
    } else {
      ++j_;
      if (j_ < b_size_) b_key_ = b_(j_);
    }
  }

 private:
  Run a_, b_;
  int a_size_, b_size_;
  int i_, j_;
  key a_key_, b_key_;
};

SLICESORT_DETAIL_END
