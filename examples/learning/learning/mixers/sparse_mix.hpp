// SPDX-License-Identifier: Apache-2.0
// Paramixer's mixer: a chain of sparse factors whose weights are made from the embedding.
#pragma once

#include "learning/layers/elements.hpp"
#include "learning/layers/linear.hpp"
#include "learning/mixers/projected.hpp"

#include <slicesort/sparse_mix.hpp>

#include <vector>

namespace learning::mixers {

/// `y = (I + W_{M-1}) .. (I + W_0) g(x)` (Paramixer, eq. 3 to 6), where row i of the sparse factor
/// `W_m` is `f_m(x0_i)`: f_m and g are MLPs of one hidden layer, and x0 is the embedding, not what
/// the layer before put out.
template <class Topology = ss::topology::chord, class T = float>
class sparse_mix {
 public:
  using element = T;

  struct config {
    Topology topology{};
    index_t hidden = 32;
    index_t factors = 0;  ///< 0: ceil(log2 length), which lets every row reach every other
    ss::checkpoints saved = ss::save_all;
  };

  sparse_mix(site<T> const& at, config const& with)
      : factors_(with.factors > 0 ? with.factors : ss::ceil_log2(at.length)),
        links_(op_links(with, factors_)),
        hidden_(with.hidden),
        function_(at.rules.hidden),
        op_(with.topology, with.saved),
        values_(at.at("value"), at.width, hidden_, at.width),
        first_(at.at("weights.0"), at.width, factors_ * hidden_) {
    for (index_t m = 0; m < factors_; ++m)
      second_.emplace_back(at.at("weights.2." + std::to_string(m)), hidden_, links_);
  }

  void forward(call<T>& c, tensor3<T const> x, tensor3<T> y) {
    memory::scope const scope(c.stack);
    extents3 const e = x.extents();
    input_ = x, v_ = c.keep(e);
    values_.forward(c, flat(x), flat(v_));
    slope_ = c.keep_rows(flat(x), factors_ * hidden_), value_ = c.keep_rows(slope_, slope_.columns);
    stack_extents const we{factors_, e.batch, e.length, links_};
    w_ = {c.keep(we.size()), we};
    first_.forward(c, flat(c.start), slope_);
    activate(c, function_, slope_, value_);
    for (index_t m = 0; m < factors_; ++m)
      second_[static_cast<std::size_t>(m)].forward(c, hidden_of(value_, m), flat(w_[m]));
    stack_extents const se = op_.saved_extents(e, we);
    states_ = {c.keep(se.size()), se};
    auto const scratch = workspace(c, op_.template workspace_bytes<T>(c.on(), e, we));
    c.work([&] {
      ss::saved_states<T> const to = saved_if_training<ss::saved_states<T>>(c, states_);
      op_.forward(c.on(), v_, w_, y, to, scratch, {c.lengths});
    });
  }
  void backward(call<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    memory::scope const scope(c.stack);
    extents3 const e = dy.extents();
    stack_extents const we = w_.extents();
    tensor3<T> const dv = c.scratch(e);
    tensor_stack<T> const dw(c.scratch(we.size()), we);
    {
      memory::scope const inner(c.stack);
      auto const scratch = workspace(c, op_.template workspace_bytes<T>(c.on(), e, we));
      c.work([&] {
        op_.backward(c.on(), dy, v_, w_, ss::const_saved_states<T>(states_), dv, dw, scratch,
                     {ss::grad_mode::overwrite, c.lengths});
      });
    }
    matrix<T> const dvalue = c.scratch_rows(value_, value_.columns);
    for (index_t m = 0; m < factors_; ++m)
      second_[static_cast<std::size_t>(m)].backward(c, hidden_of(value_, m), flat<T const>(dw[m]),
                                                    hidden_of(dvalue, m));
    multiply_elements<T>(c, dvalue, slope_, dvalue);
    first_.backward(c, flat(c.start), dvalue, flat(c.start_gradient), ss::grad_mode::accumulate);
    values_.backward(c, flat(input_), flat<T const>(dv), flat(dx));
  }

 private:
  static index_t op_links(config const& with, index_t factors) {
    return with.topology.links(factors);
  }
  // Of factor m, in the hidden layer of all.
  matrix<T> hidden_of(matrix<T> all, index_t m) const {
    if (all.data != nullptr) all.data += m * hidden_;
    all.columns = hidden_;
    return all;
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
