// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of multi_permutation.
#include "call.hpp"

#include <type_traits>

namespace kernels {

template <class T>
using weight = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class Order, class T>
void multi_permutation(call<T> const& args, ss::tensor1<weight<T> const> weights,
                       ss::tensor1<weight<T>> dweights) {
  ss::multi_permutation<Order> const op{3};
  op.forward(args.exec, args.x, weights, args.y, args.saved, args.scratch, args.forward);
  op.backward(args.exec, args.x, args.x, weights, args.saved, args.y, dweights, args.scratch,
              args.backward);
}
#define INSTANTIATE(T)                                                                         \
  template void multi_permutation<ss::ascending>(call<T> const&, ss::tensor1<weight<T> const>, \
                                                 ss::tensor1<weight<T>>);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
