// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

template <class Form, class T>
void shuffle(call<T> const& c) {
  ss::shuffle<Form> const op{7};
  op.forward(c.exec, c.x, c.y, c.scratch, c.forward);
  op.backward(c.exec, c.x, c.y, c.scratch, c.backward);
}
#define USE(T)                                                   \
  template void shuffle<ss::shared_by_channels>(call<T> const&); \
  template void shuffle<ss::per_channel>(call<T> const&);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
