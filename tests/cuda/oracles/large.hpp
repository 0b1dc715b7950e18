// SPDX-License-Identifier: Apache-2.0
// Checks on the device for tensors too large to copy to the host.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstdint>

namespace support {

using slicesort::extents3;
using slicesort::strides3;

// Errors of a stable ascending sort: elements that are not the source's at `perm`, that are out of
// order, or equal but in the wrong order of rows; and columns whose rows are not a permutation. All
// must be 0.
struct sort_faults {
  unsigned long long moved, order, stability, permutation;
};

// Fills a tensor with the source: bfloat16 bits with many ties, without NaN and negative zero.
void fill_bf16(void* data, extents3 e, strides3 s);
sort_faults check_bf16_sort(void const* values, void const* perm, bool narrow, extents3 e,
                            strides3 s);
// The number of elements of `moved` that differ from the source at the inverse of `perm`.
unsigned long long check_bf16_backward(void const* moved, void const* perm, bool narrow, extents3 e,
                                       strides3 s);

}  // namespace support
