// SPDX-License-Identifier: Apache-2.0
// Mixers of low rank: Linformer, Nystromformer and Long-Short Transformer.
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/linformer.hpp"
#include "recipes/long_short.hpp"
#include "recipes/nystromformer.hpp"

#include <cstddef>
#include <string>

namespace learning::mixers {

template <class T>
class linformer_core
    : public recipe_core<linformer_core<T>, recipes::linformer<T, recipe_exec>, T> {
 public:
  struct config {
    index_t rank = 256;
    bool one_per_head = false;  ///< false: all heads share a projection
    bool separate = true;       ///< keys and values have projections of their own
  };
  linformer_core(parameter_scope<T> const& scope, head_shape shape, config const& options)
      : separate_(options.separate) {
    extents4 const e{1, options.one_per_head ? shape.heads : 1, options.rank, scope.length};
    auto const init = scope.rules.weight(scope.length, options.rank);
    this->learn(scope, "keys", e, init);
    if (separate_) this->learn(scope, "values", e, init);
  }

  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    return {t.q, t.k, t.v, this->template learned<U>(0),
            separate_ ? this->template learned<U>(1) : tensor4<U>()};
  }

 private:
  bool separate_;
};

template <class T>
class nystromformer_core
    : public recipe_core<nystromformer_core<T>, recipes::nystromformer<T, recipe_exec>, T> {
 public:
  struct config {
    index_t rank = 128, taps = 35;  ///< landmarks, and rows of a filter
    std::size_t newton_steps = 6;
  };
  nystromformer_core(parameter_scope<T> const& scope, head_shape shape, config const& options)
      : options_(options) {
    this->learn(scope, "filters", {1, shape.heads, 1, options.taps},
                scope.rules.weight(options.taps, options.taps));
  }

  auto make(recipe_exec const& exec) const {
    return recipes::nystromformer<T, recipe_exec>(exec, options_.rank, options_.newton_steps);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    return {t.q, t.k, t.v, this->template learned<U>(0)};
  }

 private:
  config options_;
};

template <class T>
class long_short_core
    : public recipe_core<long_short_core<T>, recipes::long_short<T, recipe_exec>, T> {
 public:
  static constexpr bool reads_rows = true;

  struct config {
    index_t rank = 32;
    ss::mask::window window{8, 8};
  };
  long_short_core(parameter_scope<T> const& scope, head_shape shape, config const& options)
      : window_(options.window), norm_epsilon_(scope.rules.norm_epsilon) {
    this->learn(scope, "projection", {1, shape.heads, scope.width, options.rank},
                scope.rules.weight(scope.width, options.rank));
    extents4 const channels{1, shape.heads, 1, shape.channels};
    for (std::string const norm : {"norm", "projected_norm"}) {
      this->learn(scope, norm + ".weight", channels, initializer::constant(1));
      this->learn(scope, norm + ".bias", channels, initializer::constant(0));
    }
  }

  auto make(recipe_exec const& exec) const {
    return recipes::long_short<T, recipe_exec>(exec, window_, norm_epsilon_);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const w = [&](std::size_t i) { return this->template learned<U>(i); };
    return {t.q, t.k, t.v, ss::split_heads(t.x, 1), w(0), {w(1), w(2)}, {w(3), w(4)}};
  }

 private:
  ss::mask::window window_;
  double norm_epsilon_;
};

template <class T = float>
using linformer = multi_head<linformer_core<T>>;
template <class T = float>
using nystromformer = multi_head<nystromformer_core<T>>;
template <class T = float>
using long_short = multi_head<long_short_core<T>>;

}  // namespace learning::mixers
