// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

template <class T>
void permute(call<T> const& c) {
  ss::permute const op;
  op.forward(c.exec, c.x, c.saved, c.y, c.scratch, c.forward);
  op.backward(c.exec, c.x, c.saved, c.y, c.scratch, c.backward);
}
#define USE(T) template void permute<T>(call<T> const&);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
