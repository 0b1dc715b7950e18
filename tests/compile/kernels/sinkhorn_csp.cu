// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of sinkhorn_csp.
#include "call.hpp"

namespace kernels {

template <class T>
void sinkhorn_csp(call<T> const& args) {
  ss::sinkhorn_csp<> const op{ss::group_size{16}, ss::sinkhorn{0.1, 5}};
  op.forward(args.exec, args.x, args.y, args.scratch, args.forward);
  op.backward(args.exec, args.x, args.x, args.y, args.scratch, args.backward);
}
template void sinkhorn_csp(call<float> const&);
template void sinkhorn_csp(call<double> const&);

}  // namespace kernels
