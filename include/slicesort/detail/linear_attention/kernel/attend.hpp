// SPDX-License-Identifier: Apache-2.0
// What the rows of a tile get from the sums over the tiles before (or behind, or all), and, where
// causal, from the tile's own pairs:
//
//   step             row      left     sums     weights of pairs     times
//   outputs          query i  phi(q)   S        <phi(q_i), phi(k_j)>  v_j
//   query_gradients  query i  g        S^T      <g_i, v_j>            phi(k_j)
//   value_gradients  key j    phi(k)   U        <phi(k_j), phi(q_i)>  g_i
//   key_gradients    key j    v        U^T      <v_j, g_i> + c_i      phi(q_i)
//
// The first two take the pairs with j <= i, the others those with i >= j.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/store.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/detail/linear_attention/feature_rule.hpp>
#include <slicesort/detail/linear_attention/kernel/product_tile.hpp>
#include <slicesort/detail/linear_attention/kernel/row_sums.hpp>
#include <slicesort/detail/linear_attention/kernel/rows.hpp>
#include <slicesort/detail/linear_attention/kernel/sums.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

enum class attend_step { outputs, query_gradients, value_gradients, key_gradients };

template <class T, attend_step Step>
struct attend_body {
  static constexpr int max_threads = linear_threads;
  using A = detail::accumulator_t<T>;
  using tile = product_tile<A>;
  using step = attend_step;
  static constexpr bool of_keys = Step == step::value_gradients || Step == step::key_gradients;
  // Whether rows of S or U are columns here.
  static constexpr bool transposed = Step == step::query_gradients || Step == step::key_gradients;

  linear_pairs pairs;
  bool causal;
  linear_side side, other;  // that of the rows, and that of what they are paired with
  linear_operand<T> left, right, times;
  index_t depth, width;  // columns of left and right; of the sums and `times`
  tile_sums<A> sums;
  A const* factors;   // [pair][row] of left before it meets the sums; or null
  A const* maxima;    // [pair][row] of keys, where weights depend on them; or null
  A const* numbers;   // outputs: d; key_gradients: c; both [pair][query]
  A const* row_sums;  // key_gradients: u, one slot for each of `sums`
  detail::divisor_rule divisor;
  tensor4<T> results;  // of outputs and value_gradients
  grad_mode mode;
  A* gradients;  // of the others: [pair][row][width]

  struct memory {
    product_memory<A> product;
    A* weights;   // where causal, as product_tile reads them: [paired with][row]
    A* inverses;  // of the rows' divisors
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& allocator) const {
    memory m;
    m.product = tile::shared(allocator);
    m.weights = m.inverses = nullptr;
    if (causal) m.weights = allocator.template allocate<A>(std::size_t{tile::size} * tile::stride);
    if constexpr (Step == step::outputs) m.inverses = allocator.template allocate<A>(linear_tile);
    return m;
  }
  SLICESORT_HD index_t column_tiles() const { return tiles_of_columns(width); }
  index_t blocks() const { return pairs.count * side.tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    linear_block const at(block.index(), side.tiles(), column_tiles());
    int const rows = side.valid_of_tile(pairs.sample(at.pair), at.tile);
    if (causal && rows > 0) weigh_pairs(block, m, at, rows);
    tile products;
    products.clear();
    if (rows > 0) {
      add_sums(block, m, at, rows, products);
      if (causal) add_pairs(block, m, at, products);
      if constexpr (Step == step::outputs) divide(block, m, at, rows);
    }
    products.each(block.rank(), [&](int row, int column, A sum) {
      if (at.column + column < width)
        put(block, m, at, row, at.column + column, row < rows ? sum : A(0), row < rows);
    });
  }

 private:
  SLICESORT_HD_INLINE index_t first_of(linear_block const& at, linear_side const& of) const {
    return at.pair * of.rows + at.row();
  }

  template <class Block>
  SLICESORT_HD_INLINE void add_sums(Block& block, memory const& m, linear_block const& at, int rows,
                                    tile& products) const {
    linear_matrix<T> const mine = left.of(pairs, at.pair);
    A const* const factor = factors == nullptr ? nullptr : factors + first_of(at, side);
    A const* const from =
        sums.of(at.pair, causal ? at.tile : 0) + at.column * (transposed ? depth : 1);
    index_t const row_pitch = transposed ? 1 : width, column_pitch = transposed ? depth : 1;
    products.template add<true, transposed>(
        block, m.product, depth,
        [&](int row, index_t k) {
          return row < rows ? times_factor(block, mine(at.row() + row, k), factor, row) : A(0);
        },
        [&](index_t k, int column) {
          return at.column + column < width ? from[k * row_pitch + column * column_pitch] : A(0);
        });
  }

  // What the tile's others have, by weight.
  template <class Block>
  SLICESORT_HD_INLINE void add_pairs(Block& block, memory const& m, linear_block const& at,
                                     tile& products) const {
    int const others = other.valid_of_tile(pairs.sample(at.pair), at.tile);
    linear_matrix<T> const values = times.of(pairs, at.pair);
    products.add_triangle(
        block, m.product, m.weights, others, of_keys, [&](index_t row, int column) {
          return at.column + column < width ? values(at.row() + row, at.column + column) : A(0);
        });
  }
  // The weights of the tile's pairs.
  template <class Block>
  SLICESORT_HD_INLINE void weigh_pairs(Block& block, memory const& m, linear_block const& at,
                                       int rows) const {
    int const others = other.valid_of_tile(pairs.sample(at.pair), at.tile);
    linear_matrix<T> const mine = left.of(pairs, at.pair), theirs = right.of(pairs, at.pair);
    tile weights;
    weights.clear();
    weights.template add<true, true>(
        block, m.product, depth,
        [&](int row, index_t k) { return row < rows ? mine(at.row() + row, k) : A(0); },
        [&](index_t k, int row) { return row < others ? theirs(at.row() + row, k) : A(0); });
    weights.each(block.rank(), [&](int row, int with, A weight) {
      m.weights[with * tile::stride + row] = weight_of(block, at, row, with, others, weight);
    });
  }
  // 0 for pairs that are not looked at. The features of a key that is not valid are zeros.
  template <class Block>
  SLICESORT_HD_INLINE A weight_of(Block& block, linear_block const& at, int row, int with,
                                  int others, A weight) const {
    using numbers_of = detail::single_numbers<Block, A>;
    using math = detail::feature_math<numbers_of>;
    numbers_of const on{block};
    int const query = of_keys ? with : row, key = of_keys ? row : with;
    if (key > query || at.row() + query >= side.rows || (of_keys && with >= others)) return A(0);
    if constexpr (Step == step::key_gradients)
      weight = math::sum(on, weight, numbers[first_of(at, side) + query]);
    if (maxima == nullptr) return weight;
    A const* const of = maxima + first_of(at, side);
    return math::product(on, weight, math::exponential(on, math::sum(on, of[key], -of[query])));
  }

  // What the rows are multiplied by.
  template <class Block>
  SLICESORT_HD_INLINE void divide(Block& block, memory const& m, linear_block const& at,
                                  int rows) const {
    block.sync();
    int const row = block.rank();
    if (row < rows) {
      A d = numbers[first_of(at, side) + row];
      if (causal) d = block.fused_multiply_add(d, A(1), sum_of_weights(block, m, row));
      m.inverses[row] = detail::divide_by(block, divisor, d).inverse;
    }
    block.sync();
  }
  template <class Block>
  SLICESORT_HD_INLINE A sum_of_weights(Block& block, memory const& m, int row) const {
    A parts[static_cast<std::size_t>(detail::row_parts)];
    SLICESORT_UNROLL
    for (int l = 0; l < detail::row_parts; ++l) {
      parts[l] = A(0);
      for (int key = l; key <= row; key += detail::row_parts)
        parts[l] = block.fused_multiply_add(m.weights[key * tile::stride + row], A(1), parts[l]);
    }
    return fold_in_registers(block, parts);
  }

  template <class Block>
  SLICESORT_HD_INLINE void put(Block& block, memory const& m, linear_block const& at, int row,
                               index_t column, A sum, bool valid) const {
    index_t const number = at.row() + row;
    if (number >= side.rows) return;
    index_t const sample = pairs.sample(at.pair), head = pairs.head(at.pair);
    if constexpr (Step == step::outputs) {
      results(sample, head, number, column) =
          detail::rounded<T>(valid ? block.fused_multiply_add(sum, m.inverses[row], A(0)) : A(0));
    } else if constexpr (Step == step::value_gradients) {
      if (valid || mode == grad_mode::overwrite)
        store_or_accumulate_sum(mode, results(sample, head, number, column), sum);
    } else if (valid) {
      index_t const n = first_of(at, side) + row;
      if constexpr (Step == step::key_gradients) {
        A const* const u = row_sums + (at.pair * sums.slots + (causal ? at.tile : 0)) * width;
        sum = block.fused_multiply_add(factors == nullptr ? A(1) : factors[n], u[column], sum);
      }
      gradients[n * width + column] = sum;
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
