// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of soft_sort and soft_rank.
#include "call.hpp"

namespace kernels {

template <class T>
void soft_sort(call<T> const& args, ss::saved_pools pools) {
  auto const instantiate = [&](auto const& op) {
    op.forward(args.exec, args.x, args.y, pools, args.scratch, args.forward);
    op.backward(args.exec, args.x, args.x, pools, args.y, args.scratch, args.backward);
  };
  instantiate(ss::soft_sort<>{});
  instantiate(ss::soft_rank<>{});
}
#define INSTANTIATE(T) template void soft_sort(call<T> const&, ss::saved_pools);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
