// SPDX-License-Identifier: Apache-2.0
// Synthesizer with a random map: the scores are parameters, to which q k^T may be added.
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/synthesizer.hpp"

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

  auto make(recipe_exec const& exec) const { return recipes::synthesizer<T, recipe_exec>(exec); }
  recipes::synthesizer_params<T> params(head_tensors<T const> const& inputs) const {
    return {inputs.q, inputs.k, inputs.v, this->learned(0)};
  }
  recipes::synthesizer_grads<T> grads(head_tensors<T> const& d) const {
    return {d.q, d.k, d.v, this->dlearned(0)};
  }
};

template <bool HasScores = true, class T = float>
using synthesizer = multi_head<synthesizer_core<HasScores, T>>;

}  // namespace learning::mixers
