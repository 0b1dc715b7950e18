// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of short_convolution.
#include "call.hpp"

namespace kernels {

template <class T>
void short_convolution(call<T> const& c, ss::tensor3<T const> weights, ss::tensor3<T> dweights) {
  auto const op = ss::short_convolution::causal(4);
  op.forward(c.exec, c.x, weights, c.y, c.scratch, c.forward);
  op.backward(c.exec, c.x, c.x, weights, c.y, dweights, c.scratch, c.backward);
}
#define USE(T) \
  template void short_convolution(call<T> const&, ss::tensor3<T const>, ss::tensor3<T>);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
