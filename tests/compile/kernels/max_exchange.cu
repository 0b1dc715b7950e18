// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of max_exchange.
#include "call.hpp"

namespace kernels {

template <class T>
void max_exchange(call<T> const& args, ss::saved_maximum maximum) {
  ss::max_exchange const op{};
  op.forward(args.exec, args.x, args.y, maximum, args.scratch, args.forward);
  op.backward(args.exec, args.x, maximum, args.y, args.scratch, args.backward);
}
#define INSTANTIATE(T) template void max_exchange(call<T> const&, ss::saved_maximum);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
