// SPDX-License-Identifier: Apache-2.0
// The control: a mixer that mixes nothing.
#pragma once

#include "learning/call.hpp"
#include "learning/layers/linear.hpp"
#include "learning/layers/site.hpp"

namespace learning::mixers {

/// `y = mlp(x)`, row by row. What a model with it learns, it learns without rows that see each
/// other: from its pooling and its head.
template <class T = float>
class none {
 public:
  using element = T;

  struct config {
    index_t hidden = 32;
  };

  none(site<T> const& at, config const& with) : mlp_(at, at.width, with.hidden, at.width) {}

  void forward(call<T>& c, tensor3<T const> x, tensor3<T> y) {
    input_ = x;
    mlp_.forward(c, flat(x), flat(y));
  }
  void backward(call<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    mlp_.backward(c, flat(input_), flat(dy), flat(dx));
  }

 private:
  mlp<T> mlp_;
  tensor3<T const> input_;
};

}  // namespace learning::mixers
