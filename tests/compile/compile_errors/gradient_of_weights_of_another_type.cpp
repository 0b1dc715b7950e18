// SPDX-License-Identifier: Apache-2.0
// A weight gradient whose element type differs from the weights.
// expect: slicesort: input and output must have the same element type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using weight_gradient = slicesort::bfloat16;
#else
using weight_gradient = float;
#endif

using half = slicesort::bfloat16;

void backward(slicesort::tensor3<half const> dy, slicesort::tensor3<half const> x,
              slicesort::tensor_stack<half const> w, slicesort::tensor3<half> dx,
              slicesort::tensor_stack<weight_gradient> dw, slicesort::workspace scratch) {
  slicesort::sparse_mix<> const op{slicesort::topology::chord{}, slicesort::recompute};
  op.backward(slicesort::exec::host{}, dy, x, w, slicesort::no_saved, dx, dw, scratch);
}
