// SPDX-License-Identifier: Apache-2.0
// Weights of sparse_mix whose element type differs from the input.
// expect: slicesort: input and output must have the same element type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using weight = float;
#else
using weight = double;
#endif

void mix(slicesort::tensor3<float const> x, slicesort::tensor_stack<weight const> w,
         slicesort::tensor3<float> y, slicesort::workspace scratch) {
  slicesort::sparse_mix<>{}.forward(slicesort::exec::host{}, x, w, y, slicesort::no_saved, scratch);
}
