// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of top_k, in the order that tests run them with.
#include "../../support/pattern_order.hpp"
#include "call.hpp"

namespace kernels {

template <class T>
void top_k(call<T> const& args, ss::top_k_indices rows, ss::index_t k) {
  ss::top_k<support::pattern_order> const op(k);
  op.forward(args.exec, args.x, args.y, rows, args.scratch, args.forward);
  op.backward(args.exec, args.x, rows, args.y, args.scratch);
}
#define INSTANTIATE(T) template void top_k(call<T> const&, ss::top_k_indices, ss::index_t);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
