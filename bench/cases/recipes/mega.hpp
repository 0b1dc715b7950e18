// SPDX-License-Identifier: Apache-2.0
// The gated attention of MEGA in the arena, of one head, over all rows or those of a chunk.
#pragma once

#include "recipe_entry.hpp"
#include "recipes/mega/mega.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bench {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// factor[c] * SiLU(x) + offset[c]. Without factors SiLU(x).
inline dense::node& scaled_silu(dense::tape& t, dense::node& x, dense::matrix const& factor = {},
                                dense::matrix const& offset = {}) {
  auto const factor_of = [factor](ss::index_t c) { return factor.size() == 0 ? 1 : factor(0, c); };
  return t.rowwise(
      x,
      [=](double const* row, double* y, ss::index_t count) {
        for (ss::index_t c = 0; c < count; ++c)
          y[c] = factor_of(c) * row[c] * sigmoid(row[c]) + (offset.size() == 0 ? 0 : offset(0, c));
      },
      [=](double const* row, double const*, double const* dy, double* drow, ss::index_t count) {
        for (ss::index_t c = 0; c < count; ++c) {
          double const s = sigmoid(row[c]);
          drow[c] += dy[c] * factor_of(c) * s * (1 + row[c] * (1 - s));
        }
      });
}

// z is q, and r is k. A `Chunk` of 0 is all rows.
template <class T, ss::index_t Chunk>
struct mega_case {
  using element = T;
  using layer = recipes::mega<T, counting_exec>;
  static constexpr bool joins_heads = true;
  learned_tensor<T> gamma, beta, bias;

  explicit mega_case(extents4 x)
      : gamma({1, 2, 1, x.channels}, 1, 1),
        beta({1, 2, 1, x.channels}, .25, 2),
        bias({1, 1, 1, 2 * rows_of(x.length) - 1}, 1, 3) {}
  layer make(counting_exec const& exec) const { return layer(exec, Chunk); }
  recipes::mega_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.k, x.v, gamma.view(), beta.view(), bias.view()};
  }
  recipes::mega_grads<T> grads(recipe_inputs<T> const& d) {
    return {d.q, d.k, d.v, gamma.grad(), beta.grad(), bias.grad()};
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    ss::index_t const length = x.q.value.rows, rows = rows_of(length);
    auto const list_keys = [=](ss::index_t i, std::vector<dense::term>& keys) {
      ss::index_t const first = i / rows * rows;
      for (ss::index_t j = first; j < std::min(length, first + rows); ++j)
        keys.push_back({j, to_double(bias.view()(0, 0, 0, rows - 1 + j - i))});
    };
    dense::node &queries = scaled_silu(t, x.q, gamma.matrix(0), beta.matrix(0)),
                &keys = scaled_silu(t, x.q, gamma.matrix(1), beta.matrix(1));
    return t.multiplied(t.attention(queries, keys, scaled_silu(t, x.v), list_keys),
                        scaled_silu(t, x.k));
  }
  static operations count_operations(extents4 x) {
    auto const rows = static_cast<double>(rows_of(x.length));
    return {4 * rows, 10 * rows};
  }
  // Roundings of queries and keys, of values, of y, of its gradient, and of the result.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(5, x); }

 private:
  static ss::index_t rows_of(ss::index_t length) {
    return Chunk == 0 ? length : std::min(length, Chunk);
  }
};

}  // namespace bench
