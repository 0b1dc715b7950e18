// SPDX-License-Identifier: Apache-2.0
// Paramixer's mixer: a chain of sparse factors whose weights are computed from the embedding.
#pragma once

#include "learning/layers/elements.hpp"
#include "learning/layers/linear.hpp"
#include "learning/mixers/projected.hpp"

#include <slicesort/sparse_mix.hpp>

#include <vector>

namespace learning::mixers {

/// `y = (I + W_{M-1}) .. (I + W_0) g(x)` (Paramixer, eq. 3 to 6). Row i of the sparse factor `W_m`
/// is `f_m(x0_i)`, where f_m and g are MLPs with one hidden layer, and x0 is the model's embedding.
template <class Topology = ss::topology::chord, class T = float>
class sparse_mix {
 public:
  using element = T;

  struct config {
    Topology topology{};
    index_t hidden = 32;
    index_t factors = 0;  ///< 0: ceil(log2 length), which connects every row to every other
    ss::checkpoints saved = ss::save_all;
  };

  sparse_mix(parameter_scope<T> const& scope, config const& options)
      : factors_(options.factors > 0 ? options.factors : ss::ceil_log2(scope.length)),
        links_(links_of(options, factors_)),
        hidden_(options.hidden),
        function_(scope.rules.hidden),
        op_(options.topology, options.saved),
        values_(scope.child("value"), scope.width, hidden_, scope.width),
        first_(scope.child("weights.0"), scope.width, factors_ * hidden_) {
    for (index_t m = 0; m < factors_; ++m)
      second_.emplace_back(scope.child("weights.2." + std::to_string(m)), hidden_, links_);
  }

  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    memory::scope const scope(c.stack);
    extents3 const e = x.extents();
    input_ = x, v_ = c.keep(e);
    values_.forward(c, flat(x), flat(v_));
    slope_ = c.keep_rows(flat(x), factors_ * hidden_), value_ = c.keep_rows(slope_, slope_.columns);
    stack_extents const weights_shape{factors_, e.batch, e.length, links_};
    w_ = {c.keep(weights_shape.size()), weights_shape};
    first_.forward(c, flat(c.embedding), slope_);
    activate(c, function_, slope_, value_);
    for (index_t m = 0; m < factors_; ++m)
      second_[static_cast<std::size_t>(m)].forward(c, hidden_columns(value_, m), flat(w_[m]));
    stack_extents const states_shape = op_.saved_extents(e, weights_shape);
    states_ = {c.keep(states_shape.size()), states_shape};
    auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), v_, w_));
    c.compute([&] {
      ss::saved_states<T> const saved = saved_if_training<ss::saved_states<T>>(c, states_);
      op_.forward(c.exec(), v_, w_, y, saved, scratch, c.lengths);
    });
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    memory::scope const scope(c.stack);
    extents3 const e = dy.extents();
    stack_extents const weights_shape = w_.extents();
    tensor3<T> const dv = c.scratch(e);
    tensor_stack<T> const dw(c.scratch(weights_shape.size()), weights_shape);
    {
      memory::scope const inner(c.stack);
      auto const scratch = workspace(c, op_.workspace_bytes(c.exec(), v_, w_));
      c.compute([&] {
        op_.backward(c.exec(), dy, v_, w_, ss::const_saved_states<T>(states_), dv, dw, scratch,
                     c.lengths);
      });
    }
    matrix<T> const dvalue = c.scratch_like(value_);
    for (index_t m = 0; m < factors_; ++m)
      second_[static_cast<std::size_t>(m)].backward(
          c, hidden_columns(value_, m), flat<T const>(dw[m]), hidden_columns(dvalue, m));
    multiply_elements<T>(c, dvalue, slope_, dvalue);
    first_.backward(c, flat(c.embedding), dvalue, flat(c.embedding_gradient),
                    ss::grad_mode::accumulate);
    values_.backward(c, flat(input_), flat<T const>(dv), flat(dx));
  }

 private:
  static index_t links_of(config const& options, index_t factors) {
    return options.topology.links(factors);
  }
  // Returns the columns of factor m in the hidden layer of all factors.
  matrix<T> hidden_columns(matrix<T> hidden, index_t m) const {
    if (hidden.data != nullptr) hidden.data += m * hidden_;
    hidden.columns = hidden_;
    return hidden;
  }

  index_t factors_, links_, hidden_;
  activation function_;
  ss::sparse_mix<Topology> op_;
  mlp<T> values_;
  linear<T> first_;
  std::vector<linear<T>> second_;
  tensor3<T const> input_;
  tensor3<T> v_;
  matrix<T> slope_, value_;
  tensor_stack<T> w_, states_;
};

}  // namespace learning::mixers
