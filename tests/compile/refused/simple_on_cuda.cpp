// SPDX-License-Identifier: Apache-2.0
// expect: slicesort: simple.hpp keeps its buffers in host memory: pass exec::host or exec::host_on.
#include <slicesort/simple.hpp>

#include <vector>

void sort(std::vector<float> const& x) {
#ifdef CORRECTED
  slicesort::exec::host on;
#else
  slicesort::exec::cuda on;
#endif
  slicesort::simple::forward(on, slicesort::slicing_sort<>{}, x, {1, 4, 1});
}
