// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

template <class T>
void max_exchange(call<T> const& c, ss::saved_maximum maximum) {
  ss::max_exchange const op{};
  op.forward(c.exec, c.x, c.y, maximum, c.scratch, c.forward);
  op.backward(c.exec, c.x, maximum, c.y, c.scratch, c.backward);
}
#define USE(T) template void max_exchange(call<T> const&, ss::saved_maximum);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
