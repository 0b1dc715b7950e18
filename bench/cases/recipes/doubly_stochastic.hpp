// SPDX-License-Identifier: Apache-2.0
// Recipes with Sinkhorn's algorithm in the arena: Sinkformer, Sinkhorn Transformer.
#pragma once

#include "recipe_entry.hpp"
#include "recipes/sinkformer.hpp"
#include "recipes/sinkhorn_transformer.hpp"

#include <slicesort/sinkhorn.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bench {

// Rows divided by their sums.
inline dense::node& divided_by_sums(dense::tape& t, dense::node& x) {
  auto const sum_of = [](double const* row, ss::index_t count) {
    double sum = 0;
    for (ss::index_t j = 0; j < count; ++j) sum += row[j];
    return sum;
  };
  return t.rowwise(
      x,
      [=](double const* row, double* y, ss::index_t count) {
        dense::add_scaled(1 / sum_of(row, count), row, y, count);
      },
      [=](double const* row, double const* y, double const* dy, double* drow, ss::index_t count) {
        double const sum = sum_of(row, count), mean = dense::dot(dy, y, count);
        for (ss::index_t j = 0; j < count; ++j) drow[j] += (dy[j] - mean) / sum;
      });
}
// exp(scale * (x - the largest of the row)). The factor of a row cancels in its sum, so it counts
// as constant.
inline dense::node& exponentials(dense::tape& t, dense::node& x, double scale) {
  return t.rowwise(
      x,
      [=](double const* row, double* y, ss::index_t count) {
        double const largest = *std::max_element(row, row + count);
        for (ss::index_t j = 0; j < count; ++j) y[j] = std::exp(scale * (row[j] - largest));
      },
      [=](double const*, double const* y, double const* dy, double* drow, ss::index_t count) {
        for (ss::index_t j = 0; j < count; ++j) drow[j] += scale * dy[j] * y[j];
      });
}

template <class T>
struct sinkformer_case {
  using element = T;
  using layer = recipes::sinkformer<T, counting_exec>;
  static constexpr ss::index_t half_steps = 3;

  explicit sinkformer_case(extents4) {}
  layer make(counting_exec const& exec) const { return layer(exec, half_steps); }
  recipes::sinkformer_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.k, x.v};
  }
  recipes::sinkformer_grads<T> grads(recipe_inputs<T> const& d) const { return {d.q, d.k, d.v}; }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    double const scale = 1 / std::sqrt(static_cast<double>(x.q.value.columns));
    dense::node* map =
        &divided_by_sums(t, exponentials(t, t.product(x.q, t.transposed(x.k)), scale));
    for (ss::index_t step = 1; step < half_steps; ++step)
      map = &divided_by_sums(t, t.transposed(*map));
    return t.product(*map, x.v);
  }
  // Without exponentials.
  static operations count_operations(extents4 x) {
    return {4 * static_cast<double>(x.length), 8 * static_cast<double>(x.length)};
  }
  // Roundings of scores, of the map, and of the result.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(3, x); }
};

// The logits of the blocks are learned, as one matrix per head and sample.
template <class T>
struct sinkhorn_transformer_case {
  using element = T;
  using layer = recipes::sinkhorn_transformer<T, counting_exec>;
  static constexpr ss::index_t block = 50, iterations = 8;
  static constexpr double temperature = 0.75;
  learned_tensor<T> logits;

  explicit sinkhorn_transformer_case(extents4 x)
      : logits({x.batch, x.heads, blocks_of(x.length), blocks_of(x.length)}, 1, 1) {}
  layer make(counting_exec const& exec) const {
    return layer(exec, block, recipes::joined_by::softmax, ss::sinkhorn{temperature, iterations});
  }
  recipes::sinkhorn_transformer_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.k, x.v, logits.view()};
  }
  recipes::sinkhorn_transformer_grads<T> grads(recipe_inputs<T> const& d) {
    return {d.q, d.k, d.v, logits.grad()};
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t h) const {
    ss::index_t const length = x.k.value.rows, rows = blocks_of(length) * block;
    // Row r of block i is the sum of the rows r of all blocks, weighted by row i of the map.
    auto const list_terms = [length, map = map_of_head(h)](ss::index_t row,
                                                           std::vector<dense::term>& terms) {
      for (ss::index_t j = row % block; j < length; j += block)
        terms.push_back({j, map(row / block, j / block)});
    };
    dense::node &keys = t.joined(x.k, t.sums(rows, x.k, list_terms)),
                &values = t.joined(x.v, t.sums(rows, x.v, list_terms));
    return t.attention(x.q, keys, values,
                       [length](ss::index_t i, std::vector<dense::term>& keys_of_row) {
                         ss::index_t const first = i / block * block;
                         for (ss::index_t j = first; j < std::min(length, first + block); ++j)
                           keys_of_row.push_back({j, 0});
                         for (ss::index_t j = first; j < first + block; ++j)
                           keys_of_row.push_back({length + j, 0});
                       });
  }
  static operations count_operations(extents4 x) {
    double const sorting = 4 * static_cast<double>(blocks_of(x.length));
    return {8.0 * block + sorting, 20.0 * block + 2 * sorting};
  }
  // Roundings of the map, of sorted rows, of their gradients, and of the result.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(4, x); }

 private:
  static ss::index_t blocks_of(ss::index_t length) { return (length + block - 1) / block; }
  // The doubly stochastic map of a head. The last half-step normalizes columns.
  dense::matrix map_of_head(ss::index_t h) const {
    dense::matrix map = logits.matrix(h);
    for (double& logit : map.values) logit = std::exp(logit / temperature);
    dense::tape t;
    dense::node* steps = &t.constant(std::move(map));
    for (ss::index_t step = 0; step < 2 * iterations; ++step)
      steps = &t.transposed(divided_by_sums(t, *steps));
    return steps->value;
  }
};

}  // namespace bench
