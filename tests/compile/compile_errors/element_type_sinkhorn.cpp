// SPDX-License-Identifier: Apache-2.0
// A 16-bit element type, which sinkhorn_csp does not support.
// expect: slicesort: the element type of sinkhorn_csp must be float or double
#include <slicesort/slicesort.hpp>

#ifdef VALID
using element = double;
#else
using element = slicesort::bfloat16;
#endif

void mix(slicesort::tensor3<element const> x, slicesort::tensor3<element> y,
         slicesort::workspace scratch) {
  slicesort::sinkhorn_csp const op{slicesort::group_size{8}, slicesort::sinkhorn{0.5, 10}};
  op.forward(slicesort::exec::host{}, x, y, scratch);
}
