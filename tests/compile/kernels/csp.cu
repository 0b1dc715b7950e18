// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

// Policies are evaluated on the host, so every csp has the same kernels.
template <class Alignment, class T>
void csp(call<T> const& c, ss::saved_order order) {
  ss::csp<ss::shift::linear, Alignment> const op{ss::group_size{4}};
  op.forward(c.exec, c.x, c.y, order, c.scratch, c.forward);
  op.backward(c.exec, c.x, order, c.y, c.scratch, c.backward);
}
#define USE(T)                                                       \
  template void csp<ss::reference>(call<T> const&, ss::saved_order); \
  template void csp<ss::ascending>(call<T> const&, ss::saved_order);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
