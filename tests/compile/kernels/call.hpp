// SPDX-License-Identifier: Apache-2.0
// What the calls in these files take. They are compiled, never run: check_kernels.py reads what the
// compiler says of the kernels behind them.
//
// Every element type meets the order that is known when compiled; the others are functions of the
// channel that cost a kernel a flag, so the largest of them is compiled for float alone.
#pragma once

#include <slicesort/slicesort.hpp>

#if defined(FLOAT_ALONE)
#  define FOR_EVERY_ELEMENT(use) use(float)
#else
#  define FOR_EVERY_ELEMENT(use) use(float) use(double) use(ss::float16) use(ss::bfloat16)
#endif

namespace kernels {

namespace ss = slicesort;

template <class T>
struct call {
  ss::exec::cuda exec;
  ss::tensor3<T const> x;
  ss::tensor3<T> y;
  ss::saved_permutation saved;
  ss::workspace scratch;
  ss::forward_options forward;
  ss::backward_options backward;
};

}  // namespace kernels
