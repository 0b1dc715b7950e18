// SPDX-License-Identifier: Apache-2.0
// Linear layers and MLPs.
#pragma once

#include "learning/gemm.hpp"
#include "learning/layers/activation.hpp"
#include "learning/layers/dropout.hpp"
#include "learning/layers/elements.hpp"
#include "learning/layers/parameter_scope.hpp"

#include <algorithm>

namespace learning {

enum class bias { none, learned };

/// `y = x W^T + b`, with W `[out, in]`.
template <class T>
class linear {
 public:
  linear(parameter_scope<T> const& scope, index_t inputs, index_t outputs,
         bias bias_kind = bias::learned)
      : inputs_(inputs),
        outputs_(outputs),
        weight_(scope.add("weight", {outputs, inputs}, scope.rules.weight(inputs, outputs))) {
    if (bias_kind == bias::learned) bias_ = scope.add("bias", {outputs}, scope.rules.bias(inputs));
  }

  index_t width() const { return outputs_; }

  void forward(context<T>& c, matrix<T const> x, matrix<T> y) const {
    c.parallel_for_rows(x, [&](index_t first, index_t count) {
      auto const result = y.slice(first, count);
      for (index_t r = 0; has_bias() && r < count; ++r)
        std::copy_n(bias_.value(), outputs_, result.row(r));
      multiply<T>(x.slice(first, count), weights(), result, transposed::b, has_bias());
    });
  }
  /// Accumulates the gradients of W and b. `x` is forward's input.
  void backward(context<T>& c, matrix<T const> x, matrix<T const> dy) const {
    // The bias follows the weights in memory, so both gradients are one array.
    c.reduce_rows(
        x, weight_.size() + bias_.size(), c.stack.is_counting() ? nullptr : weight_.gradient(),
        [&](index_t first, index_t count, T* partial) {
          for (index_t offset = 0; offset < count; offset += row_chunk) {
            index_t const row = first + offset, rows = std::min(row_chunk, count - offset);
            multiply<T>(dy.slice(row, rows), x.slice(row, rows),
                        matrix<T>(partial, outputs_, inputs_), transposed::a, /*accumulate*/ true);
          }
          T* const bias_sums = partial + weight_.size();
          for (index_t r = first; has_bias() && r < first + count; ++r)
            for (index_t i = 0; i < outputs_; ++i) bias_sums[i] += dy.row(r)[i];
        });
  }
  /// Also computes `dx = dy W`, or `dx += dy W` if `mode` is accumulate.
  void backward(context<T>& c, matrix<T const> x, matrix<T const> dy, matrix<T> dx,
                ss::grad_mode mode = ss::grad_mode::overwrite) const {
    backward(c, x, dy);
    c.parallel_for_rows(x, [&](index_t first, index_t count) {
      multiply<T>(dy.slice(first, count), weights(), dx.slice(first, count), transposed::none,
                  mode == ss::grad_mode::accumulate);
    });
  }

 private:
  bool has_bias() const { return bias_.size() > 0; }
  matrix<T const> weights() const { return matrix<T>(weight_.value(), outputs_, inputs_); }

  index_t inputs_, outputs_;
  parameter<T> weight_, bias_;
};

/// `y = W2 drop(f(W1 x + b1)) + b2`, row by row.
template <class T>
class mlp {
 public:
  mlp(parameter_scope<T> const& scope, index_t inputs, index_t hidden, index_t outputs)
      : first_(scope.child("0"), inputs, hidden),
        second_(scope.child("2"), hidden, outputs),
        function_(scope.rules.hidden),
        drop_(scope) {}

  void forward(context<T>& c, matrix<T const> x, matrix<T> y) {
    index_t const hidden = first_.width();
    memory::scope const scope(c.stack);
    slope_ = c.keep_rows(x, hidden), value_ = c.keep_rows(x, hidden);
    first_.forward(c, x, slope_);
    activate(c, function_, slope_, value_);
    drop_.apply(c, value_);
    second_.forward(c, value_, y);
  }
  void backward(context<T>& c, matrix<T const> x, matrix<T const> dy, matrix<T> dx,
                ss::grad_mode mode = ss::grad_mode::overwrite) const {
    memory::scope const scope(c.stack);
    matrix<T> const dvalue = c.scratch_like(value_);
    second_.backward(c, value_, dy, dvalue);
    drop_.apply(c, dvalue);
    multiply_elements<T>(c, dvalue, slope_, dvalue);
    first_.backward(c, x, dvalue, dx, mode);
  }

 private:
  linear<T> first_, second_;
  activation function_;
  dropout<T> drop_;
  matrix<T> slope_, value_;
};

}  // namespace learning
