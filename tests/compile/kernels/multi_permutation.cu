// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <type_traits>

namespace kernels {

template <class T>
using weight = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class Order, class T>
void multi_permutation(call<T> const& c, ss::tensor1<weight<T> const> weights,
                       ss::tensor1<weight<T>> dweights) {
  ss::multi_permutation<Order> const op{3};
  op.forward(c.exec, c.x, weights, c.y, c.saved, c.scratch, c.forward);
  op.backward(c.exec, c.x, c.x, weights, c.saved, c.y, dweights, c.scratch, c.backward);
}
#define USE(T)                                                                                 \
  template void multi_permutation<ss::ascending>(call<T> const&, ss::tensor1<weight<T> const>, \
                                                 ss::tensor1<weight<T>>);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
