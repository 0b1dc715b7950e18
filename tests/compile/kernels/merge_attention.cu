// SPDX-License-Identifier: Apache-2.0
// Calls that instantiate the kernels of merge_attention.
#include "call.hpp"

namespace kernels {

// One call has the kernels for rows in units of 16 bytes and for all other rows.
template <class T>
void merge_attention(ss::exec::cuda exec, ss::attention_part<T> part, ss::tensor4<T> y,
                     ss::saved_attention<ss::detail::accumulator_t<T>> state) {
  ss::merge_attention{}.forward(exec, {part, part}, y, state);
}
#define INSTANTIATE(T)                                                                    \
  template void merge_attention<T>(ss::exec::cuda, ss::attention_part<T>, ss::tensor4<T>, \
                                   ss::saved_attention<ss::detail::accumulator_t<T>>);
FOR_EVERY_ELEMENT(INSTANTIATE)
#undef INSTANTIATE

}  // namespace kernels
