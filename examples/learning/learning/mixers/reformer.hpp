// SPDX-License-Identifier: Apache-2.0
// Reformer: attention within chunks of rows with similar hashes.
#pragma once

#include "learning/mixers/recipe.hpp"
#include "recipes/reformer.hpp"

#include <slicesort/random_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace learning::mixers {

template <class T>
class reformer_core : public recipe_core<reformer_core<T>, recipes::reformer<T, recipe_exec>, T> {
 public:
  static constexpr index_t projections = 2;  // queries are the keys

  struct config {
    index_t chunk = 64, rounds = 4;
    index_t buckets = 0;  ///< an even number; 0: one for each chunk
    std::uint64_t seed = 0;
  };
  reformer_core(parameter_scope<T> const& scope, head_shape shape, config const& options)
      : options_(options) {
    index_t const buckets = options.buckets > 0 ? options.buckets : scope.length / options.chunk;
    shape_ = {1, options.rounds, std::max(index_t{1}, buckets / 2), shape.channels};
    rotations_.resize(static_cast<std::size_t>(shape_.size()));
    std::uint64_t const seed = random_stream(options.seed, stream_of(scope.name)).bits(0);
    ss::random_rows{seed, shape_.heads * shape_.length, shape_.channels}.write(
        tensor3<T>(rotations_.data(), {shape_.heads, shape_.length, shape_.channels}));
  }

  auto make(recipe_exec const& exec) const {
    return recipes::reformer<T, recipe_exec>(exec, options_.chunk);
  }
  template <class Arguments, class U>
  Arguments arguments(head_tensors<U> const& t) const {
    if constexpr (std::is_const_v<U>)
      return {t.q, t.v, {rotations_.data(), shape_}};
    else
      return {t.q, t.v};
  }

 private:
  config options_;
  extents4 shape_{};
  std::vector<T> rotations_;
};

template <class T = float>
using reformer = multi_head<reformer_core<T>>;

}  // namespace learning::mixers
