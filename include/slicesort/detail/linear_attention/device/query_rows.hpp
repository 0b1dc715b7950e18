// SPDX-License-Identifier: Apache-2.0
// Per-query values of backward, with the symbols of params.hpp: Z, the sum of the keys' features;
// the weight sum d = <phi(q), Z> and its gradient c; and g = dy / D(d).
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

// Causal Z of each query, for each head of k: the sum before its tile plus the keys of the tile up
// to the query. One feature per thread.
template <class T>
struct running_sums_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_side keys;        // of the same length as the queries, which are `side`
  feature_operand<T> phi;  // features of keys
  A const* row_factors;    // [pair][row]: rescales the sum of the rows before it; null means 1
  tile_sums<A> sums;       // S and Z before each tile
  A* running_z;            // [pair][query][feature]

  SLICESORT_HD index_t column_tile_count() const {
    return divide_up(sums.rows, index_t{linear_threads});
  }
  index_t blocks() const { return row_tiles::blocks() * column_tile_count(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    tile_position const position = position_of(block.index() / column_tile_count());
    index_t const f = block.index() % column_tile_count() * linear_threads + block.rank();
    if (f >= sums.rows) return;
    int const rows = position.rows,
              valid_keys = keys.valid_rows_in_tile(position.sample, position.tile);
    index_t const row_offset = position.row_offset;
    linear_matrix<T, true> const tile_phi = phi.matrix(position);
    A sum = sums.column_sums(position.pair, position.tile)[f];
    SLICESORT_UNROLL_4
    for (int i = 0; i < rows; ++i) {
      if (i < valid_keys)
        sum = block.fused_multiply_add(sum,
                                       row_factors == nullptr ? A(1) : row_factors[row_offset + i],
                                       tile_phi(block, position.first_row() + i, f));
      running_z[(row_offset + i) * sums.rows + f] = sum;
    }
  }
};

// Computes the weight sum d = <phi(q), Z> of each query, D'(d) / D(d), and g = dy / D(d).
template <class T>
struct divisors_kernel : row_tiles, with_row_sums<accumulator_t<T>> {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  feature_operand<T> phi;
  A const* running_z;  // [pair of k][query][feature]: Z of each query; null if not causal
  tile_sums<A> sums;   // S and Z of all keys; used only if running_z is null
  divisor_config divisor;
  A* weight_sum_grads;  // [pair][query]: D'(d) / D(d), later c
  linear_operand<T> dy;
  index_t values;
  A* scaled_dy;  // [pair][query][value]: g

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    row_sums<A> const row_dots = this->shared(block);
    tile_position const position = position_of(block.index());
    int const rows = position.rows;
    index_t const features = sums.rows, row_offset = position.row_offset;
    linear_matrix<T, true> const tile_phi = phi.matrix(position);
    A const* const z = running_z != nullptr ? running_z + this->kv_row_offset(position) * features
                                            : sums.column_sums(pairs.kv_pair(position.pair), 0);
    index_t const z_pitch = running_z != nullptr ? features : 0;
    row_dots.compute(
        block, rows, features,
        [&](int row, index_t f, A sum) {
          return block.fused_multiply_add(tile_phi(block, position.first_row() + row, f),
                                          z[row * z_pitch + f], sum);
        },
        [&](int row, A sum) {
          auto const terms = evaluate_divisor(block, divisor, sum);
          weight_sum_grads[row_offset + row] = terms.slope;
          return terms.inverse;
        });
    linear_matrix<T> const tile_dy = dy.matrix(position);
    for_each_element(block, rows, values, [&](int row, index_t c) {
      scaled_dy[(row_offset + row) * values + c] = block.fused_multiply_add(
          tile_dy(block, position.first_row() + row, c), row_dots.results[row], A(0));
    });
  }
};

// Completes the gradient of the query features: c = -(D'(d) / D(d)) <phi(q), S g>, and dphi is
// S g + c Z.
template <class T>
struct sum_gradients_kernel : row_tiles, with_row_sums<accumulator_t<T>> {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  feature_operand<T> phi;
  A const* running_z;  // as in divisors_kernel
  tile_sums<A> sums;
  A* weight_sum_grads;  // [pair][query]: D'(d) / D(d), then c
  A* dphi;              // [pair][query][feature]: S g, then S g + c Z

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    row_sums<A> const row_dots = this->shared(block);
    tile_position const position = position_of(block.index());
    int const rows = position.rows;
    index_t const features = sums.rows, row_offset = position.row_offset;
    linear_matrix<T, true> const tile_phi = phi.matrix(position);
    A* const dphi_rows = dphi + row_offset * features;
    A const* const z = running_z != nullptr ? running_z + this->kv_row_offset(position) * features
                                            : sums.column_sums(pairs.kv_pair(position.pair), 0);
    index_t const z_pitch = running_z != nullptr ? features : 0;
    row_dots.compute(
        block, rows, features,
        [&](int row, index_t f, A sum) {
          return block.fused_multiply_add(tile_phi(block, position.first_row() + row, f),
                                          dphi_rows[row * features + f], sum);
        },
        [&](int row, A sum) {
          return weight_sum_grads[row_offset + row] = math::negated(
                     ops, math::product(ops, weight_sum_grads[row_offset + row], sum));
        });
    for_each_element(block, rows, features, [&](int row, index_t f) {
      A& sum = dphi_rows[row * features + f];
      sum = block.fused_multiply_add(row_dots.results[row], z[row * z_pitch + f], sum);
    });
  }
};

SLICESORT_DETAIL_END
