// SPDX-License-Identifier: Apache-2.0
// A first argument that is not an execution policy.
// expect: slicesort: the first argument must be an execution policy: exec::host, exec::host_on or
// exec::cuda.
#include <slicesort/slicesort.hpp>

void sort(slicesort::tensor3<float const> x, slicesort::tensor3<float> y,
          slicesort::workspace scratch) {
#ifdef VALID
  slicesort::exec::host const exec;
#else
  int const exec = 4;
#endif
  slicesort::slicing_sort<>{}.forward(exec, x, y, slicesort::no_saved, scratch);
}
