// SPDX-License-Identifier: Apache-2.0
// Gradients of different element types in a backward of slicing_sort.
// expect: slicesort: input and output must have the same element type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using gradient = float;
#else
using gradient = double;
#endif

void backward(slicesort::tensor3<float const> dy, slicesort::const_saved_permutation saved,
              slicesort::tensor3<gradient> dx, slicesort::workspace scratch) {
  slicesort::slicing_sort<>{}.backward(slicesort::exec::host{}, dy, saved, dx, scratch);
}
