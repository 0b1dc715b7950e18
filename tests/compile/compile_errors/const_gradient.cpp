// SPDX-License-Identifier: Apache-2.0
// A const view for the input gradient of slicing_sort.
// expect: slicesort: an output view must not be const.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using output = slicesort::tensor3<float>;
#else
using output = slicesort::tensor3<float const>;
#endif

void backward(slicesort::tensor3<float const> dy, slicesort::const_saved_permutation saved,
              output dx, slicesort::workspace scratch) {
  slicesort::slicing_sort<>{}.backward(slicesort::exec::host{}, dy, saved, dx, scratch);
}
