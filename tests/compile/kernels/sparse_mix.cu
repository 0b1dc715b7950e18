// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of sparse_mix.
#include "call.hpp"

namespace kernels {

// Topologies are evaluated on the host and residuals at run time, so every sparse_mix has the same
// kernels.
template <class T>
void sparse_mix(call<T> const& args, ss::tensor_stack<T const> w, ss::saved_states<T> states,
                ss::tensor_stack<T> dw) {
  ss::sparse_mix<> const op{};
  op.forward(args.exec, args.x, w, args.y, states, args.scratch, args.forward);
  op.backward(args.exec, args.x, args.x, w, states, args.y, dw, args.scratch, args.backward);
}
#define INSTANTIATE(T)                                                                     \
  template void sparse_mix(call<T> const&, ss::tensor_stack<T const>, ss::saved_states<T>, \
                           ss::tensor_stack<T>);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
