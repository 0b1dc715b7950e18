// SPDX-License-Identifier: Apache-2.0
// Multi-head softmax attention with a mask.
#pragma once

#include "learning/mixers/multi_head.hpp"

#include <slicesort/softmax_attention.hpp>

#include <cstdint>

namespace learning::mixers {

template <class Mask, class T>
class attention_core : public qkv_core<T> {
 public:
  struct config {
    Mask mask{};
    double dropout = 0;  ///< dropout probability of attention weights
  };

  attention_core(parameter_scope<T> const& scope, head_shape, config const& options)
      : rate_(options.dropout), stream_(stream_of(scope.name)), op_(options.mask) {}

  void forward(context<T>& c, head_tensors<T const> const& inputs, tensor4<T> y) {
    extents4 const state = op_.saved_extents(y.extents(), y.extents());
    state_ = {c.keep(state.size()), state};
    auto const scratch = scratch_of(c, y.extents());
    c.compute([&] {
      ss::saved_attention<T> const saved = saved_if_training<ss::saved_attention<T>>(c, state_);
      op_.forward(c.exec(), {inputs.q, inputs.k, inputs.v}, y, saved, scratch,
                  {ss::lengths(c.lengths, c.lengths), dropout_options(c)});
    });
  }
  void backward(context<T>& c, tensor4<T const> dy, head_tensors<T const> const& inputs,
                tensor4<T const> y, head_tensors<T> const& grads) {
    auto const scratch = scratch_of(c, y.extents());
    c.compute([&] {
      op_.backward(c.exec(), dy, {inputs.q, inputs.k, inputs.v}, y,
                   ss::const_saved_attention<T>(state_), {grads.q, grads.k, grads.v}, scratch,
                   {ss::lengths(c.lengths, c.lengths), dropout_options(c)});
    });
  }

 private:
  ss::workspace scratch_of(context<T>& c, extents4 e) const {
    return workspace(c, op_.template workspace_bytes<T>(c.exec(), e, e));
  }
  ss::dropout dropout_options(context<T> const& c) const {
    if (!c.training) return {};
    return {rate_, random_stream(c.seed, stream_).bits(c.pass)};
  }

  double rate_;
  std::uint64_t stream_;
  ss::softmax_attention<Mask> op_;
  tensor4<T> state_;
};

/// `y = W_O softmax(Q K^T / sqrt(D)) V` with D channels per head.
template <class Mask = ss::mask::full, class T = float>
using attention = multi_head<attention_core<Mask, T>>;

}  // namespace learning::mixers
