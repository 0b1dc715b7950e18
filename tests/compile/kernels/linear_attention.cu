// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace kernels {

// The library's features, and what else is not a type, are told apart when kernels run.
template <class T>
void linear_attention(ss::exec::cuda exec, ss::linear_attention_inputs<T> in, ss::tensor4<T> y,
                      ss::linear_attention_gradients<T> to, ss::workspace scratch) {
  ss::linear_attention<> const op;
  op.forward(exec, in, y, scratch);
  op.backward(exec, y, in, to, scratch);
}
#define USE(T)                                                                         \
  template void linear_attention<T>(ss::exec::cuda, ss::linear_attention_inputs<T>,    \
                                    ss::tensor4<T>, ss::linear_attention_gradients<T>, \
                                    ss::workspace);
FOR_EVERY_ELEMENT(USE)
#undef USE

}  // namespace kernels
