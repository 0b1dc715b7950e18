// SPDX-License-Identifier: Apache-2.0
// The recipe reformer in the arena.
#pragma once

#include "recipe_entry.hpp"
#include "recipes/reformer.hpp"
#include "recipes/row_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

// Queries are the keys: k is not read, and its gradient is 0.
template <class T>
struct reformer_case {
  using element = T;
  using layer = recipes::reformer<T, counting_exec>;
  static constexpr ss::index_t chunk = 64, rounds = 4;
  learned_tensor<T> rotations;  // two buckets for each row of a rotation, one bucket for each chunk

  explicit reformer_case(extents4 x)
      : rotations({1, rounds, half_of_buckets(x.length), x.channels}, 1, 1) {}
  layer make(counting_exec const& exec) const { return layer(exec, chunk); }
  recipes::reformer_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.v, rotations.view()};
  }
  recipes::reformer_grads<T> grads(recipe_inputs<T> const& d) {
    zeros_.fill_once(d.k);
    return {d.q, d.v};
  }

  // Takes the order of the rows from the recipe: two buckets with nearly equal scores may be in
  // either order after rounding.
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    ss::index_t const length = x.q.value.rows, chunks = (length + chunk - 1) / chunk;
    std::vector<std::vector<ss::index_t>> orders, positions;
    for (ss::index_t round = 0; round < rounds; ++round) {
      orders.push_back(order_of(x.q.value, round));
      positions.emplace_back(orders.back().size());
      for (ss::index_t n = 0; n < length; ++n)
        positions.back()[static_cast<std::size_t>(orders.back()[static_cast<std::size_t>(n)])] = n;
    }
    auto const list_keys = [=](ss::index_t i, std::vector<dense::term>& keys) {
      for (std::size_t round = 0; round < orders.size(); ++round) {
        ss::index_t const current = positions[round][static_cast<std::size_t>(i)] / chunk,
                          previous = (current + chunks - 1) % chunks;
        auto const add_chunk = [&](ss::index_t c) {
          for (ss::index_t n = c * chunk; n < std::min(length, (c + 1) * chunk); ++n) {
            ss::index_t const key = orders[round][static_cast<std::size_t>(n)];
            keys.push_back({key, key == i ? -5e4 : 0.0});
          }
        };
        add_chunk(current);
        if (previous != current) add_chunk(previous);
      }
    };
    return t.attention(x.q, unit_rows(t, x.q), x.v, list_keys);
  }
  static operations count_operations(extents4 x) {
    double const buckets = 2.0 * static_cast<double>(half_of_buckets(x.length));
    return {rounds * (8.0 * chunk + 2 * buckets), rounds * 20.0 * chunk};
  }
  // Roundings of keys, of the output of a round, and of the result.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(3, x); }

 private:
  unread_gradients<T> zeros_;

  static ss::index_t half_of_buckets(ss::index_t length) {
    return std::max<ss::index_t>(1, length / chunk / 2);
  }
  std::vector<ss::index_t> order_of(dense::matrix const& x, ss::index_t round) const {
    std::vector<T> rows;
    for (double const value : x.values) rows.push_back(from_double<T>(value));
    extents4 const r = rotations.shape;
    ss::exec::host const exec;
    recipes::memory<ss::exec::host> memory(exec);
    recipes::row_order<ss::exec::host> order(exec, memory, {1, 1, x.rows, x.columns}, {});
    order.sort_by_bucket(
        tensor4<T const>(rows.data(), {1, 1, x.rows, x.columns}),
        tensor4<T const>(&rotations.view()(0, round, 0, 0), {1, 1, r.length, r.channels}));
    return {order.rows().data(), order.rows().data() + x.rows};
  }
  static dense::node& unit_rows(dense::tape& t, dense::node& x) {
    return t.rowwise(
        x,
        [](double const* row, double* unit, ss::index_t count) {
          dense::add_scaled(1 / std::sqrt(dense::dot(row, row, count)), row, unit, count);
        },
        [](double const* row, double const* unit, double const* dunit, double* drow,
           ss::index_t count) {
          double const inverse = 1 / std::sqrt(dense::dot(row, row, count));
          dense::add_scaled(inverse, dunit, drow, count);
          dense::add_scaled(-inverse * dense::dot(unit, dunit, count), unit, drow, count);
        });
  }
};

}  // namespace bench
