// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of shuffle.
#include "call.hpp"

namespace kernels {

template <class Granularity, class T>
void shuffle(call<T> const& args) {
  ss::shuffle<Granularity> const op{7};
  op.forward(args.exec, args.x, args.y, args.scratch, args.forward);
  op.backward(args.exec, args.x, args.y, args.scratch, args.backward);
}
#define INSTANTIATE(T)                                           \
  template void shuffle<ss::shared_by_channels>(call<T> const&); \
  template void shuffle<ss::per_channel>(call<T> const&);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
