// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of softmax_attention.
#include "call.hpp"

namespace kernels {

// A mask is compiled into every kernel that evaluates it.
template <class Algorithm, class T>
void softmax_attention(
    ss::exec::cuda exec, ss::attention_inputs<T> in, ss::tensor4<T> y,
    ss::saved_attention<typename ss::detail::attention_traits<Algorithm>::template state<T>> state,
    ss::attention_gradients<T> grads, ss::workspace scratch) {
  ss::softmax_attention<ss::mask::causal, Algorithm> const op;
  op.forward(exec, in, y, state, scratch);
  op.backward(exec, y, in, y, state, grads, scratch);
}
#define INSTANTIATE_ALGORITHM(T, Algorithm, State)                                       \
  template void softmax_attention<Algorithm>(ss::exec::cuda, ss::attention_inputs<T>,    \
                                             ss::tensor4<T>, ss::saved_attention<State>, \
                                             ss::attention_gradients<T>, ss::workspace);
#define INSTANTIATE(T)                                                  \
  INSTANTIATE_ALGORITHM(T, ss::streaming, ss::detail::accumulator_t<T>) \
  INSTANTIATE_ALGORITHM(T, ss::materialized<>, T)
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE
#undef INSTANTIATE_ALGORITHM

}  // namespace kernels
