// SPDX-License-Identifier: Apache-2.0
// A user-defined residual policy of sparse_mix, which has three built-in ones.
// expect: slicesort: the residual must be residual::per_factor, none or initial.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using residual = slicesort::residual::initial;
#else
struct residual {};
#endif

void mix(slicesort::tensor3<float const> x, slicesort::tensor_stack<float const> w,
         slicesort::tensor3<float> y, slicesort::workspace scratch) {
  slicesort::sparse_mix<slicesort::topology::chord, residual>{}.forward(
      slicesort::exec::host{}, x, w, y, slicesort::no_saved, scratch);
}
