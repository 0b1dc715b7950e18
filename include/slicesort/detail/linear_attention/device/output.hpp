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
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/row_sums.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/sums.hpp>
#include <slicesort/detail/linear_attention/device/tensor_product_tile.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

enum class attend_step { outputs, query_gradients, value_gradients, key_gradients };

template <class T, attend_step Step, products Kind>
struct linear_output_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = tile_of_products<T, Kind>;  // a product_tile, or one on tensor cores
  static constexpr int min_blocks = tile::min_blocks;
  using step = attend_step;
  static constexpr bool of_keys = Step == step::value_gradients || Step == step::key_gradients;
  // Whether rows of S or U are columns here.
  static constexpr bool transposed = Step == step::query_gradients || Step == step::key_gradients;
  // Where features are.
  static constexpr bool of_features = Step == step::outputs || Step == step::value_gradients;

  linear_pairs pairs;
  bool causal;
  linear_side side, other;  // that of the rows, and that of what they are paired with
  linear_operand<T, of_features> left, right;
  linear_operand<T, !of_features> times;
  index_t depth, width;  // columns of left and right; of the sums and `times`
  tile_sums<A> sums;
  A const* factors;  // [pair][row] of left before it meets the sums; or null
  A const* maxima;   // [pair][row] of keys, where weights depend on them; or null
  A const* c;        // key_gradients: [pair][query]
  divisor_config divisor;
  tensor4<T> results;  // of outputs and value_gradients
  grad_mode mode;
  A* gradients;  // of the others: [pair][row][width]

  struct memory {
    typename tile::operands product;
    typename tile::weights weights;  // where causal
    A* divisors;                     // d of every row, and then what the row is multiplied by
    A* parts;                        // the upper half of the parts of d, [part][row]
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& allocator) const {
    memory m;
    m.product = tile::shared(allocator);
    m.weights = m.product.left;  // no null: its address may be formed ahead of a branch
    if (causal) m.weights = tile::shared_weights(allocator);
    m.divisors = m.parts = nullptr;
    if constexpr (Step == step::outputs) {
      m.divisors = allocator.template allocate<A>(linear_tile);
      m.parts = allocator.template allocate<A>(std::size_t{half} * linear_tile);
    }
    return m;
  }
  SLICESORT_HD index_t column_tiles() const { return tiles_of_columns(width); }
  index_t blocks() const { return pairs.count * side.tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    linear_block const at(pairs, block.index(), side.tiles(), column_tiles());
    int const rows = side.valid_of_tile(at.sample, at.tile);
    if (causal && rows > 0) weigh_pairs(block, m, at, rows);
    tile products;
    products.clear();
    if (rows > 0) {
      add_sums(block, m, at, rows, products);
      if (causal) add_pairs(block, m, at, products);
      if constexpr (Step == step::outputs) divide(block, m, rows);
    }
    store(block, m, at, rows, products);
  }

 private:
  static constexpr int half = row_parts / 2;
  static_assert(half == 8, "as many as each_left takes");

  SLICESORT_HD_INLINE index_t first_of(linear_block const& at, linear_side const& of) const {
    return at.pair * of.rows + at.row();
  }

  template <class Block>
  SLICESORT_HD_INLINE void add_sums(Block& block, memory const& m, linear_block const& at, int rows,
                                    tile& products) const {
    A const* const factor = factors == nullptr ? nullptr : factors + first_of(at, side);
    index_t const slot = causal ? at.tile : 0;
    auto const mine = operand_of<true>(left.of(at), at.row(), 0, rows, factor);
    auto const of_sums =
        operand_of<transposed>(sums.matrix(at.pair, slot), transposed ? at.column : 0,
                               transposed ? 0 : at.column, width - at.column);
    if constexpr (Step == step::outputs) {
      // The parts of <phi(q), Z>: a thread takes half of them, of one row.
      A const* const z = sums.row_sums(at.pair, slot);
      int const row = block.rank() % linear_tile, mine_of_two = block.rank() / linear_tile;
      A parts[static_cast<std::size_t>(half)] = {};
      products.add(block, m.product, depth, mine, of_sums, [&](index_t f, int some) {
        SLICESORT_NO_UNROLL
        for (int group = 0; group < some; group += half)
          if ((f + group) / half % 2 == mine_of_two)
            tile::each_left(m.product, row, group, some, [&](int i, A number) {
              parts[i] = block.fused_multiply_add(number, z[f + group + i], parts[i]);
            });
      });
      fold(block, m, row, mine_of_two == 0, parts);
    } else {
      products.add(block, m.product, depth, mine, of_sums);
    }
  }
  template <class Block>
  SLICESORT_HD_INLINE void fold(Block& block, memory const& m, int row, bool lower,
                                A (&parts)[static_cast<std::size_t>(half)]) const {
    SLICESORT_UNROLL
    for (int i = 0; i < half; ++i)
      if (!lower) m.parts[i * linear_tile + row] = parts[i];
    block.sync();
    if (!lower) return;
    SLICESORT_UNROLL
    for (int i = 0; i < half; ++i)
      parts[i] = block.fused_multiply_add(parts[i], A(1), m.parts[i * linear_tile + row]);
    m.divisors[row] = fold_in_registers(block, parts);
  }

  // What the tile's others have, by weight.
  template <class Block>
  SLICESORT_HD_INLINE void add_pairs(Block& block, memory const& m, linear_block const& at,
                                     tile& products) const {
    int const others = other.valid_of_tile(at.sample, at.tile);
    products.add_triangle(block, m.product, m.weights, others, of_keys,
                          operand_of<false>(times.of(at), at.row(), at.column, width - at.column));
  }
  // The weights of the tile's pairs.
  template <class Block>
  SLICESORT_HD_INLINE void weigh_pairs(Block& block, memory const& m, linear_block const& at,
                                       int rows) const {
    int const others = other.valid_of_tile(at.sample, at.tile);
    tile weights;
    weights.clear();
    weights.add(block, m.product, depth, operand_of<true>(left.of(at), at.row(), 0, rows),
                operand_of<true>(right.of(at), at.row(), 0, others));
    weights.each(block.rank(), [&](int row, int with, A weight) {
      auto& to = tile::weight(m.weights, row, with);
      to = static_cast<std::decay_t<decltype(to)>>(weight_of(block, at, row, with, others, weight));
    });
  }
  // 0 for pairs that are not looked at. The features of a key that is not valid are zeros.
  template <class Block>
  SLICESORT_HD_INLINE A weight_of(Block& block, [[maybe_unused]] linear_block const& at, int row,
                                  int with, int others, A weight) const {
    using numbers_of = single_numbers<Block, A>;
    using math = feature_math<numbers_of>;
    numbers_of const ops{block};
    int const query = of_keys ? with : row, key = of_keys ? row : with;
    if (key > query || at.row() + query >= side.rows || (of_keys && with >= others)) return A(0);
    if constexpr (Step == step::key_gradients)
      weight = math::sum(ops, weight, c[first_of(at, side) + query]);
    if (maxima == nullptr) return weight;
    A const* const of = maxima + first_of(at, side);
    return math::product(ops, weight, math::exponential(ops, math::sum(ops, of[key], -of[query])));
  }

  // What the rows are multiplied by.
  template <class Block>
  SLICESORT_HD_INLINE void divide(Block& block, memory const& m, int rows) const {
    block.sync();
    int const row = block.rank();
    if (row < rows) {
      A d = m.divisors[row];
      if (causal) d = block.fused_multiply_add(d, A(1), sum_of_weights(block, m, row));
      m.divisors[row] = divide_by(block, divisor, d).inverse;
    }
    block.sync();
  }
  template <class Block>
  SLICESORT_HD_INLINE A sum_of_weights(Block& block, memory const& m, int row) const {
    A parts[static_cast<std::size_t>(row_parts)];
    SLICESORT_UNROLL
    for (int l = 0; l < row_parts; ++l) {
      parts[l] = A(0);
      for (int key = l; key <= row; key += row_parts)
        parts[l] = block.fused_multiply_add(static_cast<A>(tile::weight(m.weights, row, key)), A(1),
                                            parts[l]);
    }
    return fold_in_registers(block, parts);
  }

  // Of the tile's sums; those of rows that are not valid count as 0.
  template <class Block>
  SLICESORT_HD_INLINE void store(Block& block, memory const& m, linear_block const& at, int rows,
                                 tile const& products) const {
    int const height = side.rows_of_tile(at.tile), columns = within_tile(width - at.column);
    index_t const first = first_of(at, side);
    strides4 const s = results.strides();
    [[maybe_unused]] A* const to_gradients = gradients + first * width + at.column;
    T* const to =
        results.data() == nullptr ? nullptr : &results(at.sample, at.head, at.row(), at.column);
    products.each(block.rank(), [&](int row, int column, A sum) {
      if (row >= height || column >= columns) return;
      bool const valid = row < rows;
      if constexpr (Step == step::outputs) {
        A const y = valid ? block.fused_multiply_add(sum, m.divisors[row], A(0)) : A(0);
        to[row * s.length + column * s.channels] = rounded<T>(y);
      } else if constexpr (Step == step::value_gradients) {
        if (valid || mode == grad_mode::overwrite)
          store_or_accumulate_sum(mode, to[row * s.length + column * s.channels],
                                  valid ? sum : A(0));
      } else if (valid) {
        if constexpr (Step == step::key_gradients) {
          A const* const u = sums.row_sums(at.pair, causal ? at.tile : 0) + at.column;
          A const by = factors == nullptr ? A(1) : factors[first + row];
          sum = block.fused_multiply_add(by, u[column], sum);
        }
        to_gradients[row * width + column] = sum;
      }
    });
  }
};

SLICESORT_DETAIL_END
