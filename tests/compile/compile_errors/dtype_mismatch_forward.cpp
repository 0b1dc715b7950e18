// SPDX-License-Identifier: Apache-2.0
// An input and an output of different element types in a forward of slicing_sort.
// expect: slicesort: input and output must have the same element type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using output = float;
#else
using output = double;
#endif

void sort(slicesort::tensor3<float const> x, slicesort::tensor3<output> y,
          slicesort::workspace scratch) {
  slicesort::slicing_sort<>{}.forward(slicesort::exec::host{}, x, y, slicesort::no_saved, scratch);
}
