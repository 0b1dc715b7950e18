// SPDX-License-Identifier: Apache-2.0
// Calls of matmul::backward, which does not exist.
// cases: backward without_policy
// expect: slicesort: matmul has no backward: da is forward of dc and transposed(b), db is forward
// of transposed(a) and dc.
#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

extern ss::tensor4<float const> x;
extern ss::tensor4<float> dx;

void call(ss::exec::host exec, ss::matmul<> const& product) {
#if defined(VALID)
  product.forward(exec, x, ss::transposed(x), dx);
#elif defined(CASE_backward)
  product.backward(exec, x, x, dx);
#else
  product.backward(x, x, dx);
#endif
}
