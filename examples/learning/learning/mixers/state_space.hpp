// SPDX-License-Identifier: Apache-2.0
// State spaces: S4D, S5 and ETSMLP.
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/state_space/etsmlp.hpp"
#include "recipes/state_space/s4d.hpp"
#include "recipes/state_space/s5.hpp"

#include <cmath>
#include <cstddef>
#include <optional>

namespace learning::mixers {

/// `y = W_O gelu(op(x))`, or `y = W_O gelu(op(W_in x))` if `Core::projects`. `Core` is a
/// `recipe_core` that reads rows.
template <class Core>
class state_space {
 public:
  using element = typename Core::element;
  using T = element;

  struct config {
    typename Core::config core{};
    index_t inner = 0;  ///< channels if projected; 0: the width
  };

  state_space(parameter_scope<T> const& scope, config const& options)
      : inner_(Core::projects && options.inner > 0 ? options.inner : scope.width),
        out_(scope.child("out"), inner_, scope.width),
        core_(scope, {1, inner_}, options.core) {
    if (Core::projects) in_.emplace(scope.child("in"), scope.width, inner_);
  }

  void forward(context<T>& c, tensor3<T const> x, tensor3<T> y) {
    memory::scope const scope(c.stack);
    extents3 const e{x.extents().batch, x.extents().length, inner_};
    input_ = rows_ = x, slope_ = c.keep(e), mixed_ = c.keep(e);
    if (in_) {
      tensor3<T> const projected = c.keep(e);
      in_->forward(c, flat(x), flat(projected));
      rows_ = projected;
    }
    core_.forward(c, {{}, {}, {}, rows_}, ss::split_heads(slope_, 1));
    activate(c, activation::gelu, flat(slope_), flat(mixed_));
    out_.forward(c, flat<T const>(mixed_), flat(y));
  }
  void backward(context<T>& c, tensor3<T const> dy, tensor3<T> dx) {
    memory::scope const scope(c.stack);
    tensor3<T> const dmixed = c.scratch(mixed_.extents()),
                     drows = in_ ? c.scratch(mixed_.extents()) : dx;
    out_.backward(c, flat<T const>(mixed_), flat(dy), flat(dmixed));
    multiply_elements<T>(c, flat(dmixed), flat(slope_), flat(dmixed));
    core_.backward(c, ss::split_heads(dmixed, 1), {{}, {}, {}, rows_}, {}, {{}, {}, {}, drows});
    if (in_) in_->backward(c, flat(input_), flat<T const>(drows), flat(dx));
  }

 private:
  index_t inner_;
  linear<T> out_;
  std::optional<linear<T>> in_;
  Core core_;
  tensor3<T const> input_, rows_;
  tensor3<T> slope_, mixed_;
};

/// Initial values of a state space: steps of 0.001 to 0.1, rates -1/2 + i pi n (S4D-Lin).
struct state_space_initial {
  static initializer log_step() {
    return initializer::uniform(std::log(10)).around([](std::uint64_t) { return std::log(.01); });
  }
  static initializer log_decay() { return initializer::constant(std::log(.5)); }
  /// `period` values in a row have the same n.
  static initializer frequency(index_t period) {
    return initializer::constant(0).around([period](std::uint64_t i) {
      return 3.14159265358979323846 * static_cast<double>(i / static_cast<std::uint64_t>(period));
    });
  }
};
struct state_space_config {
  index_t states = 16, directions = 2;
};
/// Learned tensors 0 to 4 of S4D with `width` channels, for the recipe's params.
template <class Core, class T>
void learn_s4d(Core& core, parameter_scope<T> const& scope, index_t width,
               state_space_config const& o) {
  using initial = state_space_initial;
  core.learn(scope, "log_step", {1, 1, 1, width}, initial::log_step());
  core.learn(scope, "log_decay", {1, o.states, 1, width}, initial::log_decay());
  core.learn(scope, "frequency", {1, o.states, 1, width}, initial::frequency(width));
  core.learn(scope, "c", {1, 2 * o.states * o.directions, 1, width},
             initializer::normal(std::sqrt(.5)));
  core.learn(scope, "skip", {1, 1, 1, width}, initializer::normal(1));
}

template <class T>
class s4d_core : public recipe_core<s4d_core<T>, recipes::s4d<T, recipe_exec>, T> {
 public:
  static constexpr bool projects = false;
  using config = state_space_config;
  using s4d_core::recipe_core::learn;

  s4d_core(parameter_scope<T> const& scope, head_shape shape, config const& options) {
    learn_s4d(*this, scope, shape.channels, options);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const w = [&](std::size_t i) { return this->template learned<U>(i); };
    return {ss::split_heads(t.x, 1), w(0), w(1), w(2), w(3), w(4)};
  }
};

template <class T>
class s5_core : public recipe_core<s5_core<T>, recipes::s5<T, recipe_exec>, T> {
 public:
  static constexpr bool projects = false;
  using config = state_space_config;

  s5_core(parameter_scope<T> const& scope, head_shape shape, config const& o) {
    using initial = state_space_initial;
    index_t const width = shape.channels;
    auto const deviation = [](index_t n) { return std::sqrt(.5 / static_cast<double>(n)); };
    this->learn(scope, "log_step", {1, 1, 1, o.states}, initial::log_step());
    this->learn(scope, "log_decay", {1, 1, 1, o.states}, initial::log_decay());
    this->learn(scope, "frequency", {1, 1, 1, o.states}, initial::frequency(1));
    this->learn(scope, "b", {1, 2, o.states, width}, initializer::normal(deviation(width)));
    this->learn(scope, "c", {1, 2 * o.directions, width, o.states},
                initializer::normal(deviation(o.states)));
    this->learn(scope, "skip", {1, 1, 1, width}, initializer::normal(1));
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const w = [&](std::size_t i) { return this->template learned<U>(i); };
    return {ss::split_heads(t.x, 1), w(0), w(1), w(2), w(3), w(4), w(5)};
  }
};

template <class T>
class etsmlp_core : public recipe_core<etsmlp_core<T>, recipes::etsmlp<T, recipe_exec>, T> {
 public:
  static constexpr bool projects = true;
  struct config {};

  etsmlp_core(parameter_scope<T> const& scope, head_shape shape, config const&) {
    index_t const width = shape.channels;
    // Rates of magnitude 0.05 to 0.2 and angle 1.9 to 2.8: decays of 0.83 to 0.98.
    auto const center = [width](std::uint64_t i) {
      return i / static_cast<std::uint64_t>(width) % 2 == 0 ? std::log(.1) : 2.35;
    };
    this->learn(scope, "log_rate", {1, 4, 1, width}, initializer::uniform(.5).around(center));
    this->learn(scope, "log_weight", {1, 4, 1, width}, initializer::normal(.2));
    this->learn(scope, "skip", {1, 1, 1, width}, initializer::normal(1));
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const w = [&](std::size_t i) { return this->template learned<U>(i); };
    return {ss::split_heads(t.x, 1), w(0), w(1), w(2)};
  }
};

template <class T = float>
using s4d = state_space<s4d_core<T>>;
template <class T = float>
using s5 = state_space<s5_core<T>>;
template <class T = float>
using etsmlp = state_space<etsmlp_core<T>>;

}  // namespace learning::mixers
