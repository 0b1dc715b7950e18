// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of csp.
#include "call.hpp"

namespace kernels {

// Policies are evaluated on the host, so every csp has the same kernels.
template <class Alignment, class T>
void csp(call<T> const& args, ss::saved_order order) {
  ss::csp<ss::shift::linear, Alignment> const op{ss::group_size{4}};
  op.forward(args.exec, args.x, args.y, order, args.scratch, args.forward);
  op.backward(args.exec, args.x, order, args.y, args.scratch, args.backward);
}
#define INSTANTIATE(T)                                               \
  template void csp<ss::reference>(call<T> const&, ss::saved_order); \
  template void csp<ss::ascending>(call<T> const&, ss::saved_order);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
