// SPDX-License-Identifier: Apache-2.0
// expect: slicesort: input and output must have the same element type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using other = float;
#else
using other = double;
#endif

void mix(slicesort::tensor3<float const> x, slicesort::tensor_stack<other const> w,
         slicesort::tensor3<float> y, slicesort::workspace scratch) {
  slicesort::sparse_mix<>{}.forward(slicesort::exec::host{}, x, w, y, slicesort::no_saved, scratch);
}
