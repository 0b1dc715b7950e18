// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernel of matmul.
#include "call.hpp"

namespace kernels {

template <class T>
void matmul(call<T> const& c, ss::tensor4<T const> a, ss::tensor4<T> product) {
  ss::matmul<>().forward(c.exec, a, ss::transposed(a), product, c.scratch, c.backward.mode);
}
#define USE(T) template void matmul(call<T> const&, ss::tensor4<T const>, ss::tensor4<T>);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
