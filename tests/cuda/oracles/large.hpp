// SPDX-License-Identifier: Apache-2.0
// Checks on the device of tensors too large to bring back.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstdint>

namespace support {

using slicesort::extents3;
using slicesort::strides3;

// How the columns of `values` and `perm` break the promise of a stable ascending sort of the tensor
// that `fill` wrote: rows that are not the source's at `perm`, that are out of order, that are
// equal but in the wrong order of rows; columns whose rows are no permutation. All must be 0.
struct sort_faults {
  unsigned long long moved, order, stability, permutation;
};

// bfloat16 bits, many ties, none of them a NaN or a negative zero: a function of the place alone.
void fill_bf16(void* data, extents3 e, strides3 s);
sort_faults check_bf16_sort(void const* values, void const* perm, bool narrow, extents3 e,
                            strides3 s);
// Rows of `moved` that are not the source's at the inverse of `perm`.
unsigned long long check_bf16_backward(void const* moved, void const* perm, bool narrow, extents3 e,
                                       strides3 s);

}  // namespace support
