// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

template <class Order, class T>
void slicing_sort(call<T> const& c) {
  ss::slicing_sort<Order> const op;
  op.forward(c.exec, c.x, c.y, c.saved, c.scratch, c.forward);
  op.backward(c.exec, c.x, c.saved, c.y, c.scratch, c.backward);
}
#define USE(T) template void slicing_sort<ss::ascending>(call<T> const&);
FOR_EVERY_ELEMENT(USE)
#undef USE
template void slicing_sort<ss::haar_interleave>(call<float> const&);

}  // namespace kernels
