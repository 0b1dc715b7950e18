// SPDX-License-Identifier: Apache-2.0
// The recipe synthesizer in the arena.
#pragma once

#include "recipe_entry.hpp"
#include "recipes/synthesizer.hpp"

#include <vector>

namespace bench {

// Scores are q k^T / sqrt(channels) and a learned map for each head.
template <class T>
struct synthesizer_case {
  using element = T;
  using layer = recipes::synthesizer<T, counting_exec>;
  learned_tensor<T> map;

  explicit synthesizer_case(extents4 x) : map({1, x.heads, x.length, x.length}, 1, 1) {}
  layer make(counting_exec const& exec) const { return layer(exec); }
  recipes::synthesizer_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.k, x.v, map.view()};
  }
  recipes::synthesizer_grads<T> grads(recipe_inputs<T> const& d) {
    return {d.q, d.k, d.v, map.grad()};
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t h) const {
    auto const list_keys = [this, h](ss::index_t i, std::vector<dense::term>& keys) {
      for (ss::index_t j = 0; j < map.shape.length; ++j)
        keys.push_back({j, to_double(map.view()(0, h, i, j))});
    };
    return t.attention(x.q, x.k, x.v, list_keys);
  }
  static operations count_operations(extents4 x) {
    return {4 * static_cast<double>(x.length), 10 * static_cast<double>(x.length)};
  }
  // Roundings of y, which backward reads, and of the result.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(2, x); }
};

}  // namespace bench
