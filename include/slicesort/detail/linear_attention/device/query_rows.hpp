// SPDX-License-Identifier: Apache-2.0
// What backward forms of each query: the sum of its weights, what it is divided by, and the
// gradient of that sum.
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

// Where causal, Z of every query: that before its tile, and the tile's keys up to its own. A thread
// takes a feature.
template <class T>
struct running_sums_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_pairs pairs;
  linear_side queries, keys;  // as many
  feature_operand<T> phi;     // of keys
  A const* kept;              // [pair][row], what a row leaves of the sum before it; null: 1
  tile_sums<A> before;        // each tile: S and Z
  A* to;                      // [pair][query][feature]

  SLICESORT_HD index_t column_tiles() const {
    return divide_up(before.rows, index_t{linear_threads});
  }
  index_t blocks() const { return pairs.count * queries.tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    linear_block const at(pairs, block.index() / column_tiles(), queries.tiles(), 1);
    index_t const f = block.index() % column_tiles() * linear_threads + block.rank();
    if (f >= before.rows) return;
    index_t const sample = at.sample;
    int const rows = queries.valid_of_tile(sample, at.tile),
              added = keys.valid_of_tile(sample, at.tile);
    index_t const first = at.pair * queries.rows + at.row();
    linear_matrix<T, true> const mine = phi.of(at);
    A sum = before.row_sums(at.pair, at.tile)[f];
    SLICESORT_UNROLL_4
    for (int i = 0; i < rows; ++i) {
      if (i < added)
        sum = block.fused_multiply_add(sum, kept == nullptr ? A(1) : kept[first + i],
                                       mine(block, at.row() + i, f));
      to[(first + i) * before.rows + f] = sum;
    }
  }
};

// Backward, d = <phi(q), Z>, what is made of it, and g.
template <class T>
struct divisors_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_pairs pairs;
  linear_side queries;
  feature_operand<T> phi;
  A const* running;   // [pair][query][feature], Z of every query; or null
  tile_sums<A> sums;  // then S and Z of all keys
  divisor_config divisor;
  A* slopes;  // [pair][query]
  linear_operand<T> dy;
  index_t values;
  A* g;  // [pair][query][value]

  template <class SharedAllocator>
  SLICESORT_HD row_sums<A> shared(SharedAllocator& memory) const {
    return row_sums<A>::shared(memory);
  }
  index_t blocks() const { return pairs.count * queries.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    row_sums<A> const of_rows = shared(block);
    linear_block const at(pairs, block.index(), queries.tiles(), 1);
    int const rows = queries.valid_of_tile(at.sample, at.tile);
    index_t const features = sums.rows, first = at.pair * queries.rows + at.row();
    linear_matrix<T, true> const mine = phi.of(at);
    A const* const z = running != nullptr ? running + first * features : sums.row_sums(at.pair, 0);
    index_t const z_pitch = running != nullptr ? features : 0;
    of_rows.form(
        block, rows, features,
        [&](int row, index_t f, A sum) {
          return block.fused_multiply_add(mine(block, at.row() + row, f), z[row * z_pitch + f],
                                          sum);
        },
        [&](int row, A sum) {
          auto const by = divide_by(block, divisor, sum);
          slopes[first + row] = by.slope;
          return by.inverse;
        });
    linear_matrix<T> const in = dy.of(at);
    for_each_of_rows(block, rows, values, [&](int row, index_t c) {
      g[(first + row) * values + c] =
          block.fused_multiply_add(in(block, at.row() + row, c), of_rows.numbers[row], A(0));
    });
  }
};

// c, and from S g the gradient of the features.
template <class T>
struct sum_gradients_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_pairs pairs;
  linear_side queries;
  feature_operand<T> phi;
  A const* running;  // as divisors_kernel
  tile_sums<A> sums;
  A* c;     // [pair][query]: the slope of the divisor, and then c
  A* dphi;  // [pair][query][feature]: S g, and then the gradient

  template <class SharedAllocator>
  SLICESORT_HD row_sums<A> shared(SharedAllocator& memory) const {
    return row_sums<A>::shared(memory);
  }
  index_t blocks() const { return pairs.count * queries.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    row_sums<A> const of_rows = shared(block);
    linear_block const at(pairs, block.index(), queries.tiles(), 1);
    int const rows = queries.valid_of_tile(at.sample, at.tile);
    index_t const features = sums.rows, first = at.pair * queries.rows + at.row();
    linear_matrix<T, true> const mine = phi.of(at);
    A* const gradient = dphi + first * features;
    A const* const z = running != nullptr ? running + first * features : sums.row_sums(at.pair, 0);
    index_t const z_pitch = running != nullptr ? features : 0;
    of_rows.form(
        block, rows, features,
        [&](int row, index_t f, A sum) {
          return block.fused_multiply_add(mine(block, at.row() + row, f),
                                          gradient[row * features + f], sum);
        },
        [&](int row, A sum) {
          return c[first + row] = math::negated(ops, math::product(ops, c[first + row], sum));
        });
    for_each_of_rows(block, rows, features, [&](int row, index_t f) {
      A& one = gradient[row * features + f];
      one = block.fused_multiply_add(of_rows.numbers[row], z[row * z_pitch + f], one);
    });
  }
};

SLICESORT_DETAIL_END
