// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of linear_attention.
#include "call.hpp"

namespace kernels {

// Kernels select built-in features, divisors and directions at run time.
template <class T>
void linear_attention(ss::exec::cuda exec, ss::linear_attention_inputs<T> in, ss::tensor4<T> y,
                      ss::linear_attention_gradients<T> grads, ss::workspace scratch) {
  ss::linear_attention<> const op;
  op.forward(exec, in, y, scratch);
  op.backward(exec, y, in, grads, scratch);
}
#define INSTANTIATE(T)                                                                 \
  template void linear_attention<T>(ss::exec::cuda, ss::linear_attention_inputs<T>,    \
                                    ss::tensor4<T>, ss::linear_attention_gradients<T>, \
                                    ss::workspace);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
