// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of soft_sort and soft_rank, in the order that tests run them
// with.
#include "../../support/pattern_order.hpp"
#include "call.hpp"

namespace kernels {

template <class T>
void soft_sort(call<T> const& args, ss::saved_pools pools) {
  auto const instantiate = [&](auto const& op) {
    op.forward(args.exec, args.x, args.y, pools, args.scratch, args.forward);
    op.backward(args.exec, args.x, args.x, pools, args.y, args.scratch, args.backward);
  };
  instantiate(ss::soft_sort<ss::regularization::l2, support::pattern_order>{});
  instantiate(ss::soft_rank<ss::regularization::l2, support::pattern_order>{});
}
#define INSTANTIATE(T) template void soft_sort(call<T> const&, ss::saved_pools);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
