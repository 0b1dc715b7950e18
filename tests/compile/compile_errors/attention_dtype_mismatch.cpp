// SPDX-License-Identifier: Apache-2.0
// A backward of softmax_attention whose saved output has another element type than its inputs.
// expect: slicesort: input and output must have the same element type.
#include <slicesort/slicesort.hpp>

#ifdef VALID
using element = float;
#else
using element = double;
#endif

void attend(slicesort::tensor4<float const> dy, slicesort::tensor4<float const> q,
            slicesort::tensor4<element const> y, slicesort::tensor4<float> state,
            slicesort::tensor4<float> dq, slicesort::workspace scratch) {
  slicesort::softmax_attention<>{}.backward(slicesort::exec::host{}, dy, {q, q, q}, y, {state},
                                            {dq}, scratch);
}
