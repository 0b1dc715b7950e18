// SPDX-License-Identifier: Apache-2.0
// Base of the mixers whose operator is one of examples/recipes.
#pragma once

#include "learning/mixers/multi_head.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace learning::mixers {

/// Policy by which recipes run.
using recipe_exec = ss::exec::host_on<thread_pool>;

/// Base of cores for `multi_head` that call a recipe. `Core` adds its learned tensors in its
/// constructor, and defines
/// - `make(exec)`, which returns the recipe, if it has options;
/// - `arguments<Arguments>(head_tensors)`, which returns the recipe's params, or grads in the same
///   order, from tensors and from `learned<U>(i)`.
///
/// A recipe allocates its intermediate results itself, outside of the memory of the step.
template <class Core, class Recipe, class T>
class recipe_core : public qkv_core<T> {
 public:
  Recipe make(recipe_exec const& exec) const { return Recipe(exec); }

  void forward(context<T>& c, head_tensors<T const> const& inputs, tensor4<T> y) {
    c.compute([&] {
      recipe_.emplace(core().make(c.exec()));
      recipe_->forward(params(inputs), y, ss::lengths(c.lengths));
    });
  }
  void backward(context<T>& c, tensor4<T const> dy, head_tensors<T const> const& inputs,
                tensor4<T const> y, head_tensors<T> const& grads) {
    for (learned_tensor& tensor : learned_) tensor.gradient = c.scratch(tensor.shape.size());
    c.compute([&] {
      recipe_->backward(dy, params(inputs), y,
                        core().template arguments<typename Recipe::grads_type>(grads));
      for (learned_tensor const& tensor : learned_)  // recipes overwrite gradients
        for (index_t i = 0; i < tensor.shape.size(); ++i)
          tensor.values.gradient()[i] += tensor.gradient[i];
    });
  }

 protected:
  /// Adds learned tensor 0, 1, ..
  void learn(parameter_scope<T> const& scope, std::string const& name, extents4 shape,
             initializer init) {
    learned_.push_back({scope.add(name, {shape.heads, shape.length, shape.channels}, init), shape});
  }
  /// Returns the values of a learned tensor, or its gradient if U is not const.
  template <class U>
  tensor4<U> learned(std::size_t i) const {
    learned_tensor const& tensor = learned_[i];
    return {std::is_const_v<U> ? tensor.values.value() : tensor.gradient, tensor.shape};
  }

 private:
  struct learned_tensor {
    parameter<T> values;
    extents4 shape;
    T* gradient = nullptr;
  };
  Core& core() { return static_cast<Core&>(*this); }
  typename Recipe::params_type params(head_tensors<T const> const& inputs) {
    return core().template arguments<typename Recipe::params_type>(inputs);
  }

  std::vector<learned_tensor> learned_;
  std::optional<Recipe> recipe_;
};

}  // namespace learning::mixers
