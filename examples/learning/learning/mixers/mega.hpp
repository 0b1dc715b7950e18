// SPDX-License-Identifier: Apache-2.0
// MEGA: a moving average, gated attention with one head, and an update gate; and MEGA with CSP in
// place of the attention.
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/mega/gates.hpp"
#include "recipes/mega/mega.hpp"
#include "recipes/mega/mega_csp.hpp"
#include "recipes/mega/moving_average.hpp"
#include "recipes/mega/pointwise_attend.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace learning::mixers {

template <class T>
class moving_average_core
    : public recipe_core<moving_average_core<T>, recipes::moving_average<T, recipe_exec>, T> {
 public:
  moving_average_core(parameter_scope<T> const& scope, index_t states) {
    extents4 const e{1, 2 * states, 1, scope.width};
    auto const sign = [width = scope.width](std::uint64_t i) {
      return i / static_cast<std::uint64_t>(width) % 2 == 0 ? 1.0 : -1.0;
    };
    this->learn(scope, "delta", e, initializer::normal(.2));
    this->learn(scope, "alpha", e, initializer::normal(.2));
    this->learn(scope, "beta", e, initializer::normal(.02).around(sign));
    this->learn(scope, "gamma", e, initializer::normal(1));
    this->learn(scope, "skip", {1, 1, 1, scope.width}, initializer::normal(1));
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const w = [&](std::size_t i) { return this->template learned<U>(i); };
    return {ss::split_heads(t.x, 1), w(0), w(1), w(2), w(3), w(4)};
  }
};

/// Gated attention. Its inputs are projections: q is MEGA's z, and k the gate r.
template <class Attention, class T>
class mega_core
    : public recipe_core<mega_core<Attention, T>, recipes::mega<T, recipe_exec, Attention>, T> {
 public:
  struct config {
    index_t chunk = 0;      ///< rows that see each other; 0: all
    index_t channels = 64;  ///< of queries and keys
    Attention attention{};
  };
  mega_core(parameter_scope<T> const& scope, config const& options) : options_(options) {
    extents4 const e{1, 2, 1, options.channels};
    index_t const reach = options.chunk > 0 ? std::min(options.chunk, scope.length) : scope.length;
    this->learn(scope, "gamma", e, initializer::normal(.02));
    this->learn(scope, "beta", e, initializer::constant(0));
    this->learn(scope, "bias", {1, 1, 1, 2 * reach - 1}, initializer::normal(.02));
  }
  auto make(recipe_exec const& exec) const {
    return recipes::mega<T, recipe_exec, Attention>(exec, options_.chunk, options_.attention);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const w = [&](std::size_t i) { return this->template learned<U>(i); };
    return {t.q, t.k, t.v, w(0), w(1), w(2)};
  }

 private:
  config options_;
};

template <class Csp, class T>
class mega_csp_core
    : public recipe_core<mega_csp_core<Csp, T>, recipes::mega_csp<T, recipe_exec, Csp>, T> {
 public:
  struct config {
    ss::grouping groups = ss::group_count{1};
    static constexpr index_t channels = 0;
  };
  mega_csp_core(parameter_scope<T> const&, config const& options) : csp_(options.groups) {}
  auto make(recipe_exec const& exec) const {
    return recipes::mega_csp<T, recipe_exec, Csp>(exec, csp_);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    return {t.k, t.v};
  }

 private:
  Csp csp_;
};

/// `y = x + sigmoid(u) (SiLU(g + W_O core(z, r, W_V x)) - x)`, where u, g, z and r are a projection
/// of the moving average of x (MEGA).
template <class Core>
class mega_layer {
 public:
  using element = typename Core::element;
  using T = element;

  struct config {
    typename Core::config core{};
    index_t states = 16;  ///< of the moving average, per direction
    index_t inner = 0;    ///< channels of the values; 0: twice the width
  };

  mega_layer(parameter_scope<T> const& scope, config const& options)
      : width_(scope.width),
        inner_(options.inner > 0 ? options.inner : 2 * scope.width),
        channels_(options.core.channels),
        average_(scope.child("average"), options.states),
        gates_(scope.child("gates"), width_, 2 * width_ + channels_ + inner_),
        values_(scope.child("value"), width_, inner_),
        out_(scope.child("out"), inner_, width_),
        core_(scope, options.core),
        drop_(scope) {}

  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    memory::scope const scope(c.stack);
    extents3 const e = x.extents(), inner{e.batch, e.length, inner_};
    input_ = x, averages_ = c.keep(e), value_ = c.keep(inner), mixed_ = c.keep(inner);
    gate_ = c.keep({e.batch, e.length, gates_.width()}), candidate_ = c.keep(e);
    average_.forward(c, {{}, {}, {}, x}, ss::split_heads(averages_, 1));
    gates_.forward(c, flat<T const>(averages_), flat(gate_));
    values_.forward(c, flat(x), flat(value_));
    core_.forward(c, tensors<T const>(gate_, value_), ss::split_heads(mixed_, 1));
    drop_.apply(c, flat(mixed_));
    out_.forward(c, flat<T const>(mixed_), flat(candidate_));
    add_elements<T>(c, flat(candidate_), flat(part(gate_, width_, width_)), flat(candidate_));
    c.compute([&] {
      update_.emplace(c.exec());
      update_->forward(update_params(), ss::split_heads(y, 1), ss::lengths(c.lengths));
    });
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    memory::scope const scope(c.stack);
    tensor3<T> const dgate = c.scratch(gate_.extents()), dcandidate = c.scratch(dx.extents()),
                     dmixed = c.scratch(mixed_.extents()), dvalue = c.scratch(mixed_.extents()),
                     daverage = c.scratch(dx.extents()), drows = c.scratch(dx.extents());
    c.compute([&] {
      update_->backward(ss::split_heads(dy, 1), update_params(), {},
                        {ss::split_heads(part(dgate, 0, width_), 1), ss::split_heads(dcandidate, 1),
                         ss::split_heads(dx, 1)});
    });
    copy<T>(c, flat<T const>(dcandidate), flat(part(dgate, width_, width_)));
    out_.backward(c, flat<T const>(mixed_), flat<T const>(dcandidate), flat(dmixed));
    drop_.apply(c, flat(dmixed));
    core_.backward(c, ss::split_heads(dmixed, 1), tensors<T const>(gate_, value_), {},
                   tensors<T>(dgate, dvalue));
    values_.backward(c, flat(input_), flat<T const>(dvalue), flat(dx), ss::grad_mode::accumulate);
    gates_.backward(c, flat<T const>(averages_), flat<T const>(dgate), flat(daverage));
    average_.backward(c, ss::split_heads(daverage, 1), {{}, {}, {}, input_}, {},
                      {{}, {}, {}, drows});
    add_elements<T>(c, flat<T const>(dx), flat<T const>(drows), flat(dx));
  }

 private:
  static tensor3<T> part(tensor3<T> x, index_t first, index_t count) {
    extents3 const e = x.extents();
    return {x.data() + first, {e.batch, e.length, count}, x.strides()};
  }
  // The gates are u, g, z and r.
  template <class U>
  head_tensors<U> tensors(tensor3<T> gates, tensor3<T> values) const {
    return {ss::split_heads(part(gates, 2 * width_, channels_), 1),
            ss::split_heads(part(gates, 2 * width_ + channels_, inner_), 1),
            ss::split_heads(values, 1),
            {}};
  }
  recipes::update_gate_params<T> update_params() const {
    return {ss::split_heads(part(gate_, 0, width_), 1), ss::split_heads(candidate_, 1),
            ss::split_heads(input_, 1)};
  }

  index_t width_, inner_, channels_;
  moving_average_core<T> average_;
  linear<T> gates_, values_, out_;
  Core core_;
  dropout<T> drop_;
  std::optional<recipes::update_gate<T, recipe_exec>> update_;
  tensor3<T const> input_;
  tensor3<T> averages_, gate_, value_, mixed_, candidate_;
};

template <class Attention = ss::softmax_attention<>, class T = float>
using mega = mega_layer<mega_core<Attention, T>>;
template <class Csp = ss::csp<ss::shift::none, ss::ascending>, class T = float>
using mega_csp = mega_layer<mega_csp_core<Csp, T>>;

}  // namespace learning::mixers
