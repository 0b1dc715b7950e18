// SPDX-License-Identifier: Apache-2.0
// The control experiment: a mixer that mixes no rows.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/linear.hpp"
#include "learning/layers/parameter_scope.hpp"

namespace learning::mixers {

/// `y = mlp(x)`, row by row. Only the pooling and the head of its model combine rows.
template <class T = float>
class none {
 public:
  using element = T;

  struct config {
    index_t hidden = 32;
  };

  none(parameter_scope<T> const& scope, config const& options)
      : mlp_(scope, scope.width, options.hidden, scope.width) {}

  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    input_ = x;
    mlp_.forward(c, flat(x), flat(y));
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    mlp_.backward(c, flat(input_), flat(dy), flat(dx));
  }

 private:
  mlp<T> mlp_;
  tensor3<T const> input_;
};

}  // namespace learning::mixers
