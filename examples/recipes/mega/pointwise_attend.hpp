// SPDX-License-Identifier: Apache-2.0
// Attention without softmax as a step of a recipe, for MEGA's form for images: a mega with
// `ss::pointwise_attention<>(ss::per_key{})` as its attention.
#pragma once

#include "../support.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/options.hpp>
#include <slicesort/pointwise_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T, class Mask, class Function>
struct pointwise_step {
  ss::pointwise_attention<Mask, Function> op;
  ss::attention_inputs<T> inputs;
  ss::key_and_query_lengths lengths;
  tensor4<T> y;

  template <class Exec>
  void backward(Exec const& exec, memory<Exec>& memory, tensor4<T const> dy,
                ss::attention_gradients<T> const& grads) const {
    op.backward(exec, dy, inputs, grads, memory.workspace(), lengths);
  }
};

// Calls forward. The output lives in `memory`.
template <class T, class Exec, class Mask, class Function>
pointwise_step<T, Mask, Function> attend(Exec const& exec, memory<Exec>& memory,
                                         ss::pointwise_attention<Mask, Function> const& op,
                                         ss::attention_inputs<T> const& inputs,
                                         ss::key_and_query_lengths lengths) {
  extents4 const q = inputs.q.extents();
  pointwise_step<T, Mask, Function> const step{
      op, inputs, lengths,
      memory.template tensor<T>({q.batch, q.heads, q.length, inputs.v.extents().channels})};
  op.forward(exec, inputs, step.y, memory.workspace(), lengths);
  return step;
}

}  // namespace recipes
