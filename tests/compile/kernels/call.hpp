// SPDX-License-Identifier: Apache-2.0
// Arguments of the calls in this folder, which instantiate kernels. The calls are compiled, but
// never run: check_kernels.py reads the resources of the kernels from the compiler's messages.
//
// An order known at compile time is compiled for every element type. An order that depends on the
// channel costs a kernel one more flag, so the largest of these kernels is compiled for float only.
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
