// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of decaying_sum.
#include "call.hpp"

namespace kernels {

template <class T>
void decaying_sum(call<T> const& args, ss::decay_inputs<T> const& in,
                  ss::decay_gradients<T> const& grads) {
  ss::decaying_sum const op;
  op.forward(args.exec, args.x, in, args.y, {}, args.scratch, args.forward);
  op.backward(args.exec, args.x, args.x, in, grads, {}, args.scratch, args.backward);
}
#define USE(T)                                                           \
  template void decaying_sum(call<T> const&, ss::decay_inputs<T> const&, \
                             ss::decay_gradients<T> const&);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
