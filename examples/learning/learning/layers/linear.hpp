// SPDX-License-Identifier: Apache-2.0
// Linear layers, and two of them with an activation between.
#pragma once

#include "learning/gemm.hpp"
#include "learning/layers/activation.hpp"
#include "learning/layers/dropout.hpp"
#include "learning/layers/elements.hpp"
#include "learning/layers/site.hpp"

#include <algorithm>

namespace learning {

enum class bias { none, learned };

/// `y = x W^T + b`, with W `[out, in]`.
template <class T>
class linear {
 public:
  linear(site<T> const& at, index_t in, index_t out, bias with = bias::learned)
      : in_(in), out_(out), weight_(at.add("weight", {out, in}, at.rules.weight(in, out))) {
    if (with == bias::learned) bias_ = at.add("bias", {out}, at.rules.bias(in));
  }

  index_t outputs() const { return out_; }

  void forward(call<T>& c, matrix<T const> x, matrix<T> y) const {
    c.parallel_rows(x, [&](index_t first, index_t count) {
      auto const to = y.part(first, count);
      for (index_t r = 0; has_bias() && r < count; ++r) std::copy_n(bias_.value(), out_, to.row(r));
      multiply<T>(x.part(first, count), weights(), to, transposed::b, has_bias());
    });
  }
  /// Adds to the gradients of W and b. `x` is what forward read.
  void backward(call<T>& c, matrix<T const> x, matrix<T const> dy) const {
    // Biases were added right after weights, so both gradients are one array.
    c.reduce_rows(x, weight_.size() + bias_.size(),
                  c.stack.counting() ? nullptr : weight_.gradient(),
                  [&](index_t first, index_t count, T* part) {
                    for (index_t done = 0; done < count; done += rows_at_once) {
                      index_t const at = first + done, rows = std::min(rows_at_once, count - done);
                      multiply<T>(dy.part(at, rows), x.part(at, rows), matrix<T>(part, out_, in_),
                                  transposed::a, /*adds*/ true);
                    }
                    T* const sums = part + weight_.size();
                    for (index_t r = first; has_bias() && r < first + count; ++r)
                      for (index_t i = 0; i < out_; ++i) sums[i] += dy.row(r)[i];
                  });
  }
  /// `dx = dy W`, or `dx += dy W`; and as above.
  void backward(call<T>& c, matrix<T const> x, matrix<T const> dy, matrix<T> dx,
                ss::grad_mode mode = ss::grad_mode::overwrite) const {
    backward(c, x, dy);
    c.parallel_rows(x, [&](index_t first, index_t count) {
      multiply<T>(dy.part(first, count), weights(), dx.part(first, count), transposed::none,
                  mode == ss::grad_mode::accumulate);
    });
  }

 private:
  bool has_bias() const { return bias_.size() > 0; }
  matrix<T const> weights() const { return matrix<T>(weight_.value(), out_, in_); }

  index_t in_, out_;
  parameter<T> weight_, bias_;
};

/// `y = W2 drop(f(W1 x + b1)) + b2`, row by row.
template <class T>
class mlp {
 public:
  mlp(site<T> const& at, index_t in, index_t hidden, index_t out)
      : first_(at.at("0"), in, hidden),
        second_(at.at("2"), hidden, out),
        function_(at.rules.hidden),
        drop_(at) {}

  void forward(call<T>& c, matrix<T const> x, matrix<T> y) {
    index_t const hidden = first_.outputs();
    memory::scope const scope(c.stack);
    slope_ = c.keep_rows(x, hidden), value_ = c.keep_rows(x, hidden);
    first_.forward(c, x, slope_);
    activate(c, function_, slope_, value_);
    drop_.apply(c, value_);
    second_.forward(c, value_, y);
  }
  void backward(call<T>& c, matrix<T const> x, matrix<T const> dy, matrix<T> dx,
                ss::grad_mode mode = ss::grad_mode::overwrite) const {
    memory::scope const scope(c.stack);
    matrix<T> const dvalue = c.scratch_rows(value_, value_.columns);
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
