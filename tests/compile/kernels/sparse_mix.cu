// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

// Topologies are evaluated on the host and residuals at run time, so every sparse_mix has the same
// kernels.
template <class T>
void sparse_mix(call<T> const& c, ss::tensor_stack<T const> w, ss::saved_states<T> states,
                ss::tensor_stack<T> dw) {
  ss::sparse_mix<> const op{};
  op.forward(c.exec, c.x, w, c.y, states, c.scratch, c.forward);
  op.backward(c.exec, c.x, c.x, w, states, c.y, dw, c.scratch, c.backward);
}
#define USE(T)                                                                             \
  template void sparse_mix(call<T> const&, ss::tensor_stack<T const>, ss::saved_states<T>, \
                           ss::tensor_stack<T>);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
