// SPDX-License-Identifier: Apache-2.0
// MEGA in the arena: its gated attention of one head, over all rows or those of a chunk, and its
// gates with CSP.
#pragma once

#include "recipe_entry.hpp"
#include "recipes/mega/mega.hpp"
#include "recipes/mega/mega_csp.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/policies/alignment.hpp>
#include <slicesort/policies/grouping.hpp>
#include <slicesort/policies/shift.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
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

// All rows of a channel are sorted, as in CSP's table 4. r is k; q is not read.
template <class T>
struct mega_csp_case {
  using element = T;
  using sort = ss::csp<ss::shift::none, ss::ascending>;
  using layer = recipes::mega_csp<T, counting_exec, sort>;
  static constexpr bool joins_heads = true;

  explicit mega_csp_case(extents4) {}
  layer make(counting_exec const& exec) const { return layer(exec, sort(ss::group_count{1})); }
  recipes::mega_csp_params<T> params(recipe_inputs<T const> const& x) const { return {x.k, x.v}; }
  recipes::mega_csp_grads<T> grads(recipe_inputs<T> const& d) {
    zeros_.fill_once(d.q);
    return {d.k, d.v};
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    return t.multiplied(sorted(t, scaled_silu(t, x.v)), scaled_silu(t, x.k));
  }
  static operations count_operations(extents4) { return {1, 2}; }
  // Roundings of SiLU or of a gradient, and of the result.
  static double tolerance(extents4) { return 3 * unit_roundoff<T>(); }

 private:
  unread_gradients<T> zeros_;

  // The columns of x in the order of their values in T; equal values keep the order of rows.
  static dense::node& sorted(dense::tape& t, dense::node& x) {
    ss::index_t const rows = x.value.rows, columns = x.value.columns;
    std::vector<ss::index_t> order(static_cast<std::size_t>(x.value.size()));  // [columns, rows]
    dense::node& y = t.variable(dense::matrix(rows, columns));
    for (ss::index_t c = 0; c < columns; ++c) {
      auto const first = order.begin() + c * rows;
      std::iota(first, first + rows, 0);
      std::stable_sort(first, first + rows, [&](ss::index_t i, ss::index_t j) {
        return to_double(from_double<T>(x.value(i, c))) < to_double(from_double<T>(x.value(j, c)));
      });
      for (ss::index_t i = 0; i < rows; ++i) y.value(i, c) = x.value(first[i], c);
    }
    y.backward = [&x, &y, rows, columns, order = std::move(order)] {
      for (ss::index_t c = 0; c < columns; ++c)
        for (ss::index_t i = 0; i < rows; ++i)
          x.grad(order[static_cast<std::size_t>(c * rows + i)], c) += y.grad(i, c);
    };
    return y;
  }
};

}  // namespace bench
