// SPDX-License-Identifier: Apache-2.0
// A mixer of queries, keys and values: a projection, an operator on heads, and a projection back.
#pragma once

#include "learning/mixers/projected.hpp"
#include "learning/task.hpp"

#include <string>

namespace learning::mixers {

/// Heads of a multi-head operator, and the channels of one head.
struct head_shape {
  index_t heads, channels;
};

inline head_shape split_channels(index_t channels, index_t heads) {
  if (heads > 0 && channels % heads == 0) return {heads, channels / heads};
  throw task_error(std::to_string(heads) + " heads do not divide " + std::to_string(channels) +
                   " channels");
}

/// Inputs of a multi-head operator, or their gradients.
template <class T>
struct head_tensors {
  tensor4<T> q, k, v;  ///< [batch, heads, length, channels]
  tensor3<T> x;        ///< the mixer's input, of which q, k and v are projections
};

/// Base of cores that read q, k and v.
template <class T>
struct qkv_core {
  using element = T;
  static constexpr index_t projections = 3;
  static constexpr bool reads_rows = false, appends_rows = false;
};

/// `y = W_O op(W_in x)`. A single projection with weight `[projections * inner, width]` computes
/// the operator's inputs (Attention Is All You Need). `Core` contains the operator and its state.
/// It defines
/// - `projections`: 3 for q, k and v, 2 if the operator has no k, 1 if it has v alone;
/// - `reads_rows`: true if the operator also reads x, and writes its gradient; `appends_rows`: true
///   if its output is one head, the channels of all heads and those of x;
/// - `Core(parameter_scope, head_shape, config)`;
/// - `forward(context, inputs, y)` and `backward(context, dy, inputs, y, grads)` of
///   `head_tensors`, which overwrite their results.
template <class Core>
class multi_head {
 public:
  using element = typename Core::element;
  using T = element;

  struct config {
    typename Core::config core{};
    index_t heads = 1;
    index_t inner = 0;  ///< total channels of all heads; 0: the width
    bias inputs = bias::none, out = bias::none;
  };

  multi_head(parameter_scope<T> const& scope, config const& options)
      : inner_(options.inner > 0 ? options.inner : scope.width),
        heads_(options.heads),
        in_(scope.child("in_proj"), scope.width, Core::projections * inner_, options.inputs),
        mixed_width_(inner_ + (Core::appends_rows ? scope.width : 0)),
        out_(scope.child("out_proj"), mixed_width_, scope.width, options.out),
        core_(scope, split_channels(inner_, heads_), options.core) {}

  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    memory::scope const scope(c.stack);
    extents3 const e{x.extents().batch, x.extents().length, mixed_width_};
    input_ = x;
    projected_ = c.keep({e.batch, e.length, Core::projections * inner_}), mixed_ = c.keep(e);
    in_.forward(c, flat(x), flat(projected_));
    core_.forward(c, tensors<T const>(projected_, x), split_output(mixed_));
    out_.forward(c, flat<T const>(mixed_), flat(y));
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    memory::scope const scope(c.stack);
    tensor3<T> const dmixed = c.scratch(mixed_.extents()), din = c.scratch(projected_.extents());
    out_.backward(c, flat<T const>(mixed_), flat(dy), flat(dmixed));
    core_.backward(c, split_output(dmixed), tensors<T const>(projected_, input_),
                   split_output(mixed_), tensors<T>(din, dx));
    in_.backward(c, flat(input_), flat<T const>(din), flat(dx),
                 Core::reads_rows ? ss::grad_mode::accumulate : ss::grad_mode::overwrite);
  }

 private:
  tensor4<T> split_heads(tensor3<T> x) const { return ss::split_heads(x, heads_); }
  tensor4<T> split_output(tensor3<T> x) const {
    return ss::split_heads(x, Core::appends_rows ? 1 : heads_);
  }
  // Splits consecutive channels into q, k and v.
  template <class U>
  head_tensors<U> tensors(tensor3<T> projected, tensor3<U> x) const {
    extents3 const e = projected.extents();
    auto const part = [&](index_t i) {
      return split_heads(
          {projected.data() + i * inner_, {e.batch, e.length, inner_}, projected.strides()});
    };
    head_tensors<U> result{{}, {}, part(Core::projections - 1), x};
    if (Core::projections > 1) result.q = part(0);
    if (Core::projections > 2) result.k = part(1);
    return result;
  }

  index_t inner_, heads_;
  linear<T> in_;
  index_t mixed_width_;
  linear<T> out_;
  Core core_;
  tensor3<T const> input_;
  tensor3<T> projected_, mixed_;
};

}  // namespace learning::mixers
