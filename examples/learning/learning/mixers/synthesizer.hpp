// SPDX-License-Identifier: Apache-2.0
// Synthesizer: attention whose scores do not compare rows. They are parameters, to which q k^T may
// be added (random), a product of two parameters (factorized), or computed from each row (dense).
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/synthesizer.hpp"
#include "recipes/synthesizer_maps.hpp"

#include <type_traits>

namespace learning::mixers {

/// @tparam HasScores true: `y = softmax(scale * q k^T + map) v`, false: `y = softmax(map) v`.
template <bool HasScores, class T>
class synthesizer_core
    : public recipe_core<synthesizer_core<HasScores, T>, recipes::synthesizer<T, recipe_exec>, T> {
 public:
  static constexpr index_t projections = HasScores ? 3 : 1;

  struct config {};
  synthesizer_core(parameter_scope<T> const& scope, head_shape shape, config const&) {
    this->learn(scope, "map", {1, shape.heads, scope.length, scope.length},
                scope.rules.weight(scope.length, scope.length));
  }

  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    return {t.q, t.k, t.v, this->template learned<U>(0)};
  }
};

template <bool IsDense, class T>
using mapped_synthesizer_recipe =
    recipes::mapped_synthesizer<T, recipe_exec,
                                std::conditional_t<IsDense, recipes::dense_map<T, recipe_exec>,
                                                   recipes::factorized_map<T, recipe_exec>>>;

/// `y = softmax(map) v`, where `map` is `left right^T`, or `relu(x hidden) map` if dense.
template <bool IsDense, class T>
class mapped_synthesizer_core : public recipe_core<mapped_synthesizer_core<IsDense, T>,
                                                   mapped_synthesizer_recipe<IsDense, T>, T> {
 public:
  static constexpr index_t projections = 1;
  static constexpr bool reads_rows = IsDense;

  struct config {
    index_t rank = 32;  ///< of a factorized map
  };
  mapped_synthesizer_core(parameter_scope<T> const& scope, head_shape shape,
                          config const& options) {
    index_t const heads = shape.heads, hidden = shape.channels, length = scope.length;
    if (IsDense) {
      this->learn(scope, "hidden", {1, heads, scope.width, hidden},
                  scope.rules.weight(scope.width, hidden));
      this->learn(scope, "map", {1, heads, hidden, length}, scope.rules.weight(hidden, length));
    } else {
      for (char const* name : {"left", "right"})
        this->learn(scope, name, {1, heads, length, options.rank},
                    scope.rules.weight(options.rank, length));
    }
  }

  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    auto const a = this->template learned<U>(0), b = this->template learned<U>(1);
    if constexpr (IsDense)
      return {{}, {}, t.v, {ss::split_heads(t.x, 1), a, b}};
    else
      return {{}, {}, t.v, {a, b}};
  }
};

template <bool HasScores = true, class T = float>
using synthesizer = multi_head<synthesizer_core<HasScores, T>>;
template <class T = float>
using factorized_synthesizer = multi_head<mapped_synthesizer_core<false, T>>;
template <class T = float>
using dense_synthesizer = multi_head<mapped_synthesizer_core<true, T>>;

}  // namespace learning::mixers
