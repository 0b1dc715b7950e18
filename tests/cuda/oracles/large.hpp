// SPDX-License-Identifier: Apache-2.0
// Checks on the device for tensors too large to copy to the host.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstdint>

namespace support {

using slicesort::extents3;
using slicesort::strides3;

// Error counts of a stable ascending sort, all of which must be 0: elements that differ from the
// source's at `perm`, elements out of order, ties out of row order, and columns whose rows are not
// a permutation.
struct sort_faults {
  unsigned long long wrong_values, wrong_order, unstable_ties, invalid_columns;
};

// Fills a tensor with the source: bfloat16 bits with many ties, without NaN and negative zero.
void fill_bf16(void* data, extents3 e, strides3 s);
sort_faults check_bf16_sort(void const* values, void const* perm, bool is_16_bit, extents3 e,
                            strides3 s);
// Returns how many elements of `restored` differ from the source at the inverse of `perm`.
unsigned long long check_bf16_backward(void const* restored, void const* perm, bool is_16_bit,
                                       extents3 e, strides3 s);

}  // namespace support
