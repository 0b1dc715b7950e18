// SPDX-License-Identifier: Apache-2.0
// Where a part of the merge of two sorted runs begins in each of them.
#pragma once

#include <slicesort/detail/config.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// How many of the first `diagonal` elements of the merge of a and b come from a. a(i) and b(i) are
// keys; of equal keys those of a come first.
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

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
