// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of pointwise_attention.
#include "call.hpp"

namespace kernels {

template <class T>
void pointwise_attention(ss::exec::cuda exec, ss::attention_inputs<T> in, ss::tensor4<T> y,
                         ss::attention_gradients<T> grads, ss::workspace scratch) {
  ss::pointwise_attention<ss::mask::causal> const op;
  op.forward(exec, in, y, scratch);
  op.backward(exec, y, in, grads, scratch);
}
#define INSTANTIATE(T)                                                                       \
  template void pointwise_attention(ss::exec::cuda, ss::attention_inputs<T>, ss::tensor4<T>, \
                                    ss::attention_gradients<T>, ss::workspace);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
