// SPDX-License-Identifier: Apache-2.0
// A user's file with one operator: forward and backward for one element type.
#include <slicesort/cuda.cuh>
#include <slicesort/slicing_sort.hpp>

namespace ss = slicesort;

void forward(ss::exec::cuda exec, ss::tensor3<ELEMENT const> x, ss::tensor3<ELEMENT> y,
             ss::saved_permutation saved, ss::workspace scratch) {
  ss::slicing_sort<ss::ascending>{}.forward(exec, x, y, saved, scratch);
}

void backward(ss::exec::cuda exec, ss::tensor3<ELEMENT const> dy, ss::const_saved_permutation saved,
              ss::tensor3<ELEMENT> dx, ss::workspace scratch) {
  ss::slicing_sort<ss::ascending>{}.backward(exec, dy, saved, dx, scratch);
}
