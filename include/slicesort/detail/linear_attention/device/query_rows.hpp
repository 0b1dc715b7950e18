// SPDX-License-Identifier: Apache-2.0
// Scalars per query in backward: the sum of weights, the divisor, and the gradient of the sum.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/row_sums.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/sums.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Causal Z of each query: the sum before its tile plus the keys of the tile up to the query. One
// feature per thread.
template <class T>
struct running_sums_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_side keys;        // same extent as the queries, which are `side`
  feature_operand<T> phi;  // features of keys
  A const* decay;          // [pair][row]: rescales the sum before the row; null means 1
  tile_sums<A> before;     // S and Z before each tile
  A* running;              // [pair][query][feature]

  SLICESORT_HD index_t column_tiles() const {
    return divide_up(before.rows, index_t{linear_threads});
  }
  index_t blocks() const { return row_tiles::blocks() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    tile_position const position = position_of(block.index() / column_tiles());
    index_t const f = block.index() % column_tiles() * linear_threads + block.rank();
    if (f >= before.rows) return;
    int const rows = position.rows, valid_keys = keys.valid_of_tile(position.sample, position.tile);
    index_t const first = position.first;
    linear_matrix<T, true> const tile_phi = phi.matrix(position);
    A sum = before.row_sums(position.pair, position.tile)[f];
    SLICESORT_UNROLL_4
    for (int i = 0; i < rows; ++i) {
      if (i < valid_keys)
        sum = block.fused_multiply_add(sum, decay == nullptr ? A(1) : decay[first + i],
                                       tile_phi(block, position.row() + i, f));
      running[(first + i) * before.rows + f] = sum;
    }
  }
};

// Computes d = <phi(q), Z>, its divisor and slope, and g.
template <class T>
struct divisors_kernel : row_tiles, with_row_sums<accumulator_t<T>> {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  feature_operand<T> phi;
  A const* running;   // [pair][query][feature]: Z of each query; may be null
  tile_sums<A> sums;  // S and Z of all keys; read if `running` is null
  divisor_config divisor;
  A* slopes;  // [pair][query]
  linear_operand<T> dy;
  index_t values;
  A* g;  // [pair][query][value]

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    row_sums<A> const row_dots = this->shared(block);
    tile_position const position = position_of(block.index());
    int const rows = position.rows;
    index_t const features = sums.rows, first = position.first;
    linear_matrix<T, true> const tile_phi = phi.matrix(position);
    A const* const z =
        running != nullptr ? running + first * features : sums.row_sums(position.pair, 0);
    index_t const z_pitch = running != nullptr ? features : 0;
    row_dots.compute(
        block, rows, features,
        [&](int row, index_t f, A sum) {
          return block.fused_multiply_add(tile_phi(block, position.row() + row, f),
                                          z[row * z_pitch + f], sum);
        },
        [&](int row, A sum) {
          auto const terms = evaluate_divisor(block, divisor, sum);
          slopes[first + row] = terms.slope;
          return terms.inverse;
        });
    linear_matrix<T> const tile_dy = dy.matrix(position);
    for_each_element(block, rows, values, [&](int row, index_t c) {
      g[(first + row) * values + c] = block.fused_multiply_add(
          tile_dy(block, position.row() + row, c), row_dots.results[row], A(0));
    });
  }
};

// Computes c, and turns S g into the gradient of the features.
template <class T>
struct sum_gradients_kernel : row_tiles, with_row_sums<accumulator_t<T>> {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  feature_operand<T> phi;
  A const* running;  // as in divisors_kernel
  tile_sums<A> sums;
  A* c;     // [pair][query]: slope of the divisor, later c
  A* dphi;  // [pair][query][feature]: S g, later the gradient

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    row_sums<A> const row_dots = this->shared(block);
    tile_position const position = position_of(block.index());
    int const rows = position.rows;
    index_t const features = sums.rows, first = position.first;
    linear_matrix<T, true> const tile_phi = phi.matrix(position);
    A* const gradient = dphi + first * features;
    A const* const z =
        running != nullptr ? running + first * features : sums.row_sums(position.pair, 0);
    index_t const z_pitch = running != nullptr ? features : 0;
    row_dots.compute(
        block, rows, features,
        [&](int row, index_t f, A sum) {
          return block.fused_multiply_add(tile_phi(block, position.row() + row, f),
                                          gradient[row * features + f], sum);
        },
        [&](int row, A sum) {
          return c[first + row] = math::negated(ops, math::product(ops, c[first + row], sum));
        });
    for_each_element(block, rows, features, [&](int row, index_t f) {
      A& sum = gradient[row * features + f];
      sum = block.fused_multiply_add(row_dots.results[row], z[row * z_pitch + f], sum);
    });
  }
};

SLICESORT_DETAIL_END
