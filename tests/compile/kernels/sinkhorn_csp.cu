// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

template <class T>
void sinkhorn_csp(call<T> const& c) {
  ss::sinkhorn_csp<> const op{ss::group_size{16}, ss::sinkhorn{0.1, 5}};
  op.forward(c.exec, c.x, c.y, c.scratch, c.forward);
  op.backward(c.exec, c.x, c.x, c.y, c.scratch, c.backward);
}
template void sinkhorn_csp(call<float> const&);
template void sinkhorn_csp(call<double> const&);

}  // namespace kernels
