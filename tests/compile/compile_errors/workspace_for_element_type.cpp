// SPDX-License-Identifier: Apache-2.0
// A workspace size for an unsupported element type.
// expect: slicesort: the element type must be float, double, slicesort::float16
#include <slicesort/slicesort.hpp>

#ifdef VALID
using element = float;
#else
using element = int;
#endif

std::size_t bytes(slicesort::extents3 extents) {
  return slicesort::slicing_sort<>::workspace_bytes<element>(slicesort::exec::host{}, extents);
}
