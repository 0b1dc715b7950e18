// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of sinkhorn.
#include "call.hpp"

namespace kernels {

template <class T>
void sinkhorn(call<T> const& args) {
  ss::sinkhorn const op{0.5, 3};
  op.forward(args.exec, args.x, args.y, args.scratch);
  op.backward(args.exec, args.x, args.x, args.y, args.scratch);
}
#define USE(T) template void sinkhorn(call<T> const&);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
