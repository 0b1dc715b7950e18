// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of slicing_sort.
#include "call.hpp"

namespace kernels {

template <class Order, class T>
void slicing_sort(call<T> const& args) {
  ss::slicing_sort<Order> const op;
  op.forward(args.exec, args.x, args.y, args.saved, args.scratch, args.forward);
  op.backward(args.exec, args.x, args.saved, args.y, args.scratch, args.backward);
}
#define INSTANTIATE(T) template void slicing_sort<ss::ascending>(call<T> const&);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE
template void slicing_sort<ss::haar_interleave>(call<float> const&);

}  // namespace kernels
