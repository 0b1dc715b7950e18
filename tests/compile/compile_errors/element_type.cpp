// SPDX-License-Identifier: Apache-2.0
// An element type that no operator supports.
// expect: slicesort: the element type must be float, double, slicesort::float16
#include <slicesort/slicesort.hpp>

#ifdef VALID
using element = double;
#else
using element = int;
#endif

void sort(slicesort::tensor3<element const> x, slicesort::tensor3<element> y,
          slicesort::workspace scratch) {
  slicesort::slicing_sort<>{}.forward(slicesort::exec::host{}, x, y, slicesort::no_saved, scratch);
}
