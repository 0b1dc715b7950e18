// SPDX-License-Identifier: Apache-2.0
// A const output view of slicing_sort.
// expect: slicesort: an output view must not be const.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using output = slicesort::tensor3<float>;
#else
using output = slicesort::tensor3<float const>;
#endif

void sort(slicesort::tensor3<float const> x, output y, slicesort::workspace scratch) {
  slicesort::slicing_sort<>{}.forward(slicesort::exec::host{}, x, y, slicesort::no_saved, scratch);
}
