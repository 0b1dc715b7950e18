// SPDX-License-Identifier: Apache-2.0
// Mixers with Sinkhorn's algorithm: Sinkformer and Sinkhorn Transformer.
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/sinkformer.hpp"
#include "recipes/sinkhorn_transformer.hpp"
#include "recipes/sort_net.hpp"

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
  recipes::sinkformer_params<T> params(head_tensors<T const> const& inputs) const {
    return {inputs.q, inputs.k, inputs.v};
  }
  recipes::sinkformer_grads<T> grads(head_tensors<T> const& d) const { return {d.q, d.k, d.v}; }

 private:
  index_t half_steps_;
};

/// The sorting network and the attention to sorted blocks, as one recipe.
template <class T>
class sorted_blocks {
 public:
  struct params {
    tensor4<T const> q, k, v, w;
  };
  struct grads {
    tensor4<T> dq, dk, dv, dw;
  };

  sorted_blocks(recipe_exec const& exec, index_t block)
      : exec_(exec), memory_(exec), block_(block), net_(exec, block), attention_(exec, block) {}

  void forward(params const& inputs, tensor4<T> y, ss::row_lengths lengths) {
    extents4 const e = inputs.k.extents();
    index_t const blocks = (e.length + block_ - 1) / block_;
    memory_.clear();
    logits_ = memory_.template tensor<T>({e.batch, e.heads, blocks, blocks});
    net_.forward({inputs.k, inputs.w}, logits_, lengths);
    attention_.forward({inputs.q, inputs.k, inputs.v, logits_}, y, lengths);
  }
  void backward(tensor4<T const> dy, params const& inputs, tensor4<T const> y, grads const& d) {
    auto const dlogits = memory_.template tensor<T>(logits_.extents());
    auto const dk = memory_.template tensor<T>(inputs.k.extents());
    attention_.backward(dy, {inputs.q, inputs.k, inputs.v, logits_}, y,
                        {d.dq, d.dk, d.dv, dlogits});
    net_.backward(dlogits, {inputs.k, inputs.w}, {dk, d.dw});
    recipes::add(exec_, dk, d.dk);
  }

 private:
  recipe_exec exec_;
  recipes::memory<recipe_exec> memory_;
  index_t block_;
  recipes::sort_net<T, recipe_exec> net_;
  recipes::sinkhorn_transformer<T, recipe_exec> attention_;
  tensor4<T> logits_;
};

template <class T>
class sinkhorn_transformer_core
    : public recipe_core<sinkhorn_transformer_core<T>, sorted_blocks<T>, T> {
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

  auto make(recipe_exec const& exec) const { return sorted_blocks<T>(exec, block_); }
  auto params(head_tensors<T const> const& inputs) const {
    return typename sorted_blocks<T>::params{inputs.q, inputs.k, inputs.v, this->learned(0)};
  }
  auto grads(head_tensors<T> const& d) const {
    return typename sorted_blocks<T>::grads{d.q, d.k, d.v, this->dlearned(0)};
  }

 private:
  index_t block_;
};

template <class T = float>
using sinkformer = multi_head<sinkformer_core<T>>;
template <class T = float>
using sinkhorn_transformer = multi_head<sinkhorn_transformer_core<T>>;

}  // namespace learning::mixers
