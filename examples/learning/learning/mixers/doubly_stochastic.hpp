// SPDX-License-Identifier: Apache-2.0
// Mixers with Sinkhorn's algorithm: Sinkformer and Sinkhorn Transformer.
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/sinkformer.hpp"
#include "recipes/sorted_blocks.hpp"

namespace learning::mixers {

template <class T>
class sinkformer_core
    : public recipe_core<sinkformer_core<T>, recipes::sinkformer<T, recipe_exec>, T> {
 public:
  struct config {
    index_t half_steps = 3;
  };
  sinkformer_core(parameter_scope<T> const&, head_shape, config const& options)
      : half_steps_(options.half_steps) {}

  auto make(recipe_exec const& exec) const {
    return recipes::sinkformer<T, recipe_exec>(exec, half_steps_);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    return {t.q, t.k, t.v};
  }

 private:
  index_t half_steps_;
};

template <class T>
class sinkhorn_transformer_core
    : public recipe_core<sinkhorn_transformer_core<T>, recipes::sorted_blocks<T, recipe_exec>, T> {
 public:
  struct config {
    index_t block = 50;
  };
  sinkhorn_transformer_core(parameter_scope<T> const& scope, head_shape shape,
                            config const& options)
      : block_(options.block) {
    index_t const blocks = (scope.length + block_ - 1) / block_;
    this->learn(scope, "sort_net", {1, shape.heads, shape.channels, blocks},
                scope.rules.weight(shape.channels, blocks));
  }

  auto make(recipe_exec const& exec) const {
    return recipes::sorted_blocks<T, recipe_exec>(exec, block_);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    return {t.q, t.k, t.v, this->template learned<U>(0)};
  }

 private:
  index_t block_;
};

template <class T = float>
using sinkformer = multi_head<sinkformer_core<T>>;
template <class T = float>
using sinkhorn_transformer = multi_head<sinkhorn_transformer_core<T>>;

}  // namespace learning::mixers
