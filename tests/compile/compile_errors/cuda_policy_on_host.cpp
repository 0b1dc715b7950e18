// SPDX-License-Identifier: Apache-2.0
// A CUDA execution policy in a file that a host compiler builds.
// expect: slicesort: this operator has no implementation for this execution policy here. For exec::cuda include <slicesort/cuda.cuh> in a file that a CUDA compiler builds
#include <slicesort/slicesort.hpp>

void sort(slicesort::tensor3<float const> x, slicesort::tensor3<float> y,
          slicesort::workspace scratch) {
#ifdef VALID
  slicesort::exec::host exec;
#else
  slicesort::exec::cuda exec;
#endif
  slicesort::slicing_sort<>{}.forward(exec, x, y, slicesort::no_saved, scratch);
}
