// SPDX-License-Identifier: Apache-2.0
// Multi-head softmax attention with a mask.
#pragma once

#include "learning/mixers/projected.hpp"

#include <slicesort/softmax_attention.hpp>

#include <cstdint>

namespace learning::mixers {

/// `y = W_O softmax(Q K^T / sqrt(D)) V` with D channels per head. A single projection with weight
/// `[3 * inner, width]` computes Q, K and V (Attention Is All You Need).
template <class Mask = ss::mask::full, class T = float>
class attention {
 public:
  using element = T;

  struct config {
    Mask mask{};
    index_t heads = 1;
    index_t inner = 0;   ///< total channels of all heads; 0: the width
    double dropout = 0;  ///< dropout probability of attention weights
    bias inputs = bias::none, out = bias::none;
  };

  attention(parameter_scope<T> const& scope, config const& options)
      : inner_(options.inner > 0 ? options.inner : scope.width),
        heads_(options.heads),
        rate_(options.dropout),
        stream_(stream_of(scope.name)),
        in_(scope.child("in_proj"), scope.width, 3 * inner_, options.inputs),
        out_(scope.child("out_proj"), inner_, scope.width, options.out),
        op_(options.mask) {}

  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    memory::scope const scope(c.stack);
    extents3 const e{x.extents().batch, x.extents().length, inner_};
    input_ = x;
    projected_ = c.keep({e.batch, e.length, 3 * inner_}), mixed_ = c.keep(e);
    in_.forward(c, flat(x), flat(projected_));
    extents4 const head = split_heads(mixed_).extents(), state = op_.saved_extents(head, head);
    state_ = {c.keep(state.size()), state};
    auto const scratch = workspace(c, op_.template workspace_bytes<T>(c.exec(), head, head));
    c.compute([&] {
      ss::saved_attention<T> const saved = saved_if_training<ss::saved_attention<T>>(c, state_);
      op_.forward(c.exec(), inputs(), split_heads(mixed_), saved, scratch,
                  {ss::lengths(c.lengths, c.lengths), dropout_options(c)});
    });
    out_.forward(c, flat<T const>(mixed_), flat(y));
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    memory::scope const scope(c.stack);
    tensor3<T> const dmixed = c.scratch(mixed_.extents()), din = c.scratch(projected_.extents());
    out_.backward(c, flat<T const>(mixed_), flat(dy), flat(dmixed));
    extents4 const head = split_heads(mixed_).extents();
    auto const scratch = workspace(c, op_.template workspace_bytes<T>(c.exec(), head, head));
    c.compute([&] {
      ss::attention_gradients<T> const grads{qkv(din, 0), qkv(din, 1), qkv(din, 2), {}};
      op_.backward(c.exec(), split_heads(dmixed), inputs(), split_heads(mixed_),
                   ss::const_saved_attention<T>(state_), grads, scratch,
                   {ss::lengths(c.lengths, c.lengths), dropout_options(c)});
    });
    in_.backward(c, flat(input_), flat<T const>(din), flat(dx));
  }

 private:
  tensor4<T> split_heads(tensor3<T> x) const { return ss::split_heads(x, heads_); }
  // Returns Q (index 0), K or V, which are consecutive channels, split into heads.
  tensor4<T> qkv(tensor3<T> x, index_t index) const {
    extents3 const e = x.extents();
    return split_heads({x.data() + index * inner_, {e.batch, e.length, inner_}, x.strides()});
  }
  ss::attention_inputs<T> inputs() const {
    return {qkv(projected_, 0), qkv(projected_, 1), qkv(projected_, 2), {}};
  }
  ss::dropout dropout_options(context<T> const& c) const {
    if (!c.training) return {};
    return {rate_, random_stream(c.seed, stream_).bits(c.step)};
  }

  index_t inner_, heads_;
  double rate_;
  std::uint64_t stream_;
  linear<T> in_, out_;
  ss::softmax_attention<Mask> op_;
  tensor3<T const> input_;
  tensor3<T> projected_, mixed_;
  tensor4<T> state_;
};

}  // namespace learning::mixers
