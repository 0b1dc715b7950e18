// SPDX-License-Identifier: Apache-2.0
// Attention as a step of a recipe: keeps its inputs, output and state for backward.
#pragma once

#include "support.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/options.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T, class Mask = ss::mask::full>
struct attention_step {
  ss::softmax_attention<Mask> op;
  ss::attention_inputs<T> inputs;
  ss::key_and_query_lengths lengths;
  tensor4<T> y;
  tensor4<accumulator<T>> state;

  template <class Exec>
  void backward(Exec const& exec, memory<Exec>& memory, tensor4<T const> dy,
                ss::attention_gradients<T> const& grads,
                ss::grad_mode mode = ss::grad_mode::overwrite) const {
    op.backward(exec, dy, inputs, y, state, grads, memory.workspace(), {mode, lengths});
  }
};

// Calls forward. Output and state live in `memory`.
template <class T, class Exec, class Mask>
attention_step<T, Mask> attend(Exec const& exec, memory<Exec>& memory,
                               ss::softmax_attention<Mask> const& op,
                               ss::attention_inputs<T> const& inputs,
                               ss::key_and_query_lengths lengths) {
  extents4 const q = inputs.q.extents(), v = inputs.v.extents();
  attention_step<T, Mask> const step{
      op, inputs, lengths, memory.template tensor<T>({q.batch, q.heads, q.length, v.channels}),
      memory.template tensor<accumulator<T>>(op.saved_extents(q, v))};
  op.forward(exec, inputs, step.y, step.state, memory.workspace(), lengths);
  return step;
}

}  // namespace recipes
