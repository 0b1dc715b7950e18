// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of permute.
#include "call.hpp"

namespace kernels {

template <class T>
void permute(call<T> const& args) {
  ss::permute const op;
  op.forward(args.exec, args.x, args.saved, args.y, args.scratch, args.forward);
  op.backward(args.exec, args.x, args.saved, args.y, args.scratch, args.backward);
}
#define INSTANTIATE(T) template void permute<T>(call<T> const&);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
