// SPDX-License-Identifier: Apache-2.0
// expect: slicesort: input and output must have the same element type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using other = float;
#else
using other = double;
#endif

void sort(slicesort::tensor3<float const> x, slicesort::tensor3<other> y,
          slicesort::workspace scratch) {
  slicesort::slicing_sort<>{}.forward(slicesort::exec::host{}, x, y, slicesort::no_saved, scratch);
}
