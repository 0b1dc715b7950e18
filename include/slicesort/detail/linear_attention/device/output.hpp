// SPDX-License-Identifier: Apache-2.0
// Outputs and gradients of the rows of a tile. Each is lhs times the sums over the earlier tiles
// (later tiles for gradients of keys and values, all tiles if not causal). Causal calls add the
// pairs inside the tile, as products of weights and partner rows. See ../params.hpp for S, U, g and
// c.
//
//   step             row      lhs     sums     weights of pairs      partner rows
//   outputs          query i  phi(q)   S        <phi(q_i), phi(k_j)>  v_j
//   query_gradients  query i  g        S^T      <g_i, v_j>            phi(k_j)
//   value_gradients  key j    phi(k)   U        <phi(k_j), phi(q_i)>  g_i
//   key_gradients    key j    v        U^T      <v_j, g_i> + c_i      phi(q_i)
//
// Only pairs with j <= i contribute. Partners are the keys j of a query i, or the queries i of a
// key j.
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

enum class output_step { outputs, query_gradients, value_gradients, key_gradients };

template <class T, output_step Step, products Kind>
struct linear_output_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = product_tile_t<T, Kind>;
  static constexpr int min_blocks = tile::min_blocks;
  using step = output_step;
  // True if the rows of the result are keys.
  static constexpr bool rows_are_keys =
      Step == step::value_gradients || Step == step::key_gradients;
  // True if the columns of the result are rows of S or U.
  static constexpr bool transposed = Step == step::query_gradients || Step == step::key_gradients;
  // True if `lhs` and `rhs` are features.
  static constexpr bool of_features = Step == step::outputs || Step == step::value_gradients;

  bool causal;
  linear_side other;  // partners of the rows
  linear_operand<T, of_features> lhs, rhs;
  linear_operand<T, !of_features> times;
  index_t depth, width;  // columns of lhs and rhs; columns of sums and `times`
  tile_sums<A> sums;
  A const* factors;  // [pair][row]: rescales lhs for the product with the sums; may be null
  A const* maxima;   // [pair][key]: running maxima; may be null
  A const* c;        // key_gradients: [pair][query]
  divisor_config divisor;
  tensor4<T> results;  // destination of outputs and value_gradients
  grad_mode mode;
  A* gradients;  // destination of the other steps: [pair][row][width]

  struct shared_memory {
    typename tile::operands product;
    typename tile::weights weights;  // causal only
    A* divisors;                     // d of each row, later the reciprocal of its divisor
    A* partial;                      // upper half of the partial sums of d, [sum][row]
  };
  template <class SharedAllocator>
  SLICESORT_HD shared_memory shared(SharedAllocator& allocator) const {
    shared_memory memory;
    memory.product = tile::shared(allocator);
    memory.weights = memory.product.lhs;  // not null, so that its address may be hoisted
    if (causal) memory.weights = tile::shared_weights(allocator);
    memory.divisors = memory.partial = nullptr;
    if constexpr (Step == step::outputs) {
      memory.divisors = allocator.template allocate<A>(linear_tile);
      memory.partial = allocator.template allocate<A>(std::size_t{sums_per_thread} * linear_tile);
    }
    return memory;
  }
  SLICESORT_HD index_t column_tiles() const { return count_column_tiles(width); }
  index_t blocks() const { return row_tiles::blocks() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    shared_memory const memory = shared(block);
    tile_position const position = position_of(block.index(), column_tiles());
    int const rows = position.rows;
    if (causal && rows > 0) compute_weights(block, memory, position, rows);
    tile products;
    products.clear();
    if (rows > 0) {
      add_sums(block, memory, position, rows, products);
      if (causal) add_own_pairs(block, memory, position, products);
      if constexpr (Step == step::outputs) invert_divisors(block, memory, rows);
    }
    store(block, memory, position, rows, products);
  }

 private:
  static constexpr int sums_per_thread = row_parts / 2;
  static_assert(sums_per_thread == 8, "for_each_lhs takes 8");

  SLICESORT_HD_INLINE index_t row_offset(tile_position const& position,
                                         linear_side const& s) const {
    return position.pair * s.rows + position.row();
  }

  template <class Block>
  SLICESORT_HD_INLINE void add_sums(Block& block, shared_memory const& memory,
                                    tile_position const& position, int rows, tile& products) const {
    A const* const factor = factors == nullptr ? nullptr : factors + row_offset(position, side);
    index_t const tile_of_sums = causal ? position.tile : 0;
    auto const lhs_rows = make_operand<true>(lhs.matrix(position), position.row(), 0, rows, factor);
    auto const rhs_sums = make_operand<transposed>(
        sums.matrix(position.pair, tile_of_sums), transposed ? position.column : 0,
        transposed ? 0 : position.column, width - position.column);
    if constexpr (Step == step::outputs) {
      // Partial sums of <phi(q), Z>: two threads per row, each with half of the sums.
      A const* const z = sums.row_sums(position.pair, tile_of_sums);
      int const row = block.rank() % linear_tile, half_index = block.rank() / linear_tile;
      A partial[static_cast<std::size_t>(sums_per_thread)] = {};
      products.add(block, memory.product, depth, lhs_rows, rhs_sums, [&](index_t f, int count) {
        SLICESORT_NO_UNROLL
        for (int group = 0; group < count; group += sums_per_thread)
          if ((f + group) / sums_per_thread % 2 == half_index)
            tile::for_each_lhs(memory.product, row, group, count, [&](int i, A value) {
              partial[i] = block.fused_multiply_add(value, z[f + group + i], partial[i]);
            });
      });
      reduce(block, memory, row, half_index == 0, partial);
    } else {
      products.add(block, memory.product, depth, lhs_rows, rhs_sums);
    }
  }
  template <class Block>
  SLICESORT_HD_INLINE void reduce(Block& block, shared_memory const& memory, int row, bool lower,
                                  A (&partial)[static_cast<std::size_t>(sums_per_thread)]) const {
    SLICESORT_UNROLL
    for (int i = 0; i < sums_per_thread; ++i)
      if (!lower) memory.partial[i * linear_tile + row] = partial[i];
    block.sync();
    if (!lower) return;
    SLICESORT_UNROLL
    for (int i = 0; i < sums_per_thread; ++i)
      partial[i] =
          block.fused_multiply_add(partial[i], A(1), memory.partial[i * linear_tile + row]);
    memory.divisors[row] = fold_in_registers(block, partial);
  }

  // Adds the weighted partner rows of the tile.
  template <class Block>
  SLICESORT_HD_INLINE void add_own_pairs(Block& block, shared_memory const& memory,
                                         tile_position const& position, tile& products) const {
    int const partners = other.valid_of_tile(position.sample, position.tile);
    products.add_triangle(block, memory.product, memory.weights, partners, rows_are_keys,
                          make_operand<false>(times.matrix(position), position.row(),
                                              position.column, width - position.column));
  }
  // Computes the weights of the pairs inside the tile.
  template <class Block>
  SLICESORT_HD_INLINE void compute_weights(Block& block, shared_memory const& memory,
                                           tile_position const& position, int rows) const {
    int const partners = other.valid_of_tile(position.sample, position.tile);
    tile weights;
    weights.clear();
    weights.add(block, memory.product, depth,
                make_operand<true>(lhs.matrix(position), position.row(), 0, rows),
                make_operand<true>(rhs.matrix(position), position.row(), 0, partners));
    weights.for_each(block.rank(), [&](int row, int partner, A weight) {
      auto& out = tile::weight(memory.weights, row, partner);
      out = static_cast<std::decay_t<decltype(out)>>(
          weight_of(block, position, row, partner, partners, weight));
    });
  }
  // Weight of a pair; 0 for masked pairs. Features of padding keys are zeros.
  template <class Block>
  SLICESORT_HD_INLINE A weight_of(Block& block, [[maybe_unused]] tile_position const& position,
                                  int row, int partner, int partners, A weight) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    int const query = rows_are_keys ? partner : row, key = rows_are_keys ? row : partner;
    if (key > query || position.row() + query >= side.rows ||
        (rows_are_keys && partner >= partners))
      return A(0);
    if constexpr (Step == step::key_gradients)
      weight = math::sum(ops, weight, c[row_offset(position, side) + query]);
    if (maxima == nullptr) return weight;
    A const* const m = maxima + row_offset(position, side);
    return math::product(ops, weight, math::exponential(ops, math::sum(ops, m[key], -m[query])));
  }

  // Replaces d of each row by the reciprocal of its divisor.
  template <class Block>
  SLICESORT_HD_INLINE void invert_divisors(Block& block, shared_memory const& memory,
                                           int rows) const {
    block.sync();
    int const row = block.rank();
    if (row < rows) {
      A d = memory.divisors[row];
      if (causal) d = block.fused_multiply_add(d, A(1), sum_of_weights(block, memory, row));
      memory.divisors[row] = evaluate_divisor(block, divisor, d).inverse;
    }
    block.sync();
  }
  template <class Block>
  SLICESORT_HD_INLINE A sum_of_weights(Block& block, shared_memory const& memory, int row) const {
    A partial[static_cast<std::size_t>(row_parts)];
    SLICESORT_UNROLL
    for (int l = 0; l < row_parts; ++l) {
      partial[l] = A(0);
      for (int key = l; key <= row; key += row_parts)
        partial[l] = block.fused_multiply_add(
            static_cast<A>(tile::weight(memory.weights, row, key)), A(1), partial[l]);
    }
    return fold_in_registers(block, partial);
  }

  // Stores the sums of the tile, and zeros to padding rows.
  template <class Block>
  SLICESORT_HD_INLINE void store(Block& block, shared_memory const& memory,
                                 tile_position const& position, int rows,
                                 tile const& products) const {
    int const height = side.rows_of_tile(position.tile),
              columns = within_tile(width - position.column);
    index_t const first = row_offset(position, side);
    strides4 const s = results.strides();
    [[maybe_unused]] A* const gradient = gradients + first * width + position.column;
    T* const out = results.data() == nullptr
                       ? nullptr
                       : &results(position.sample, position.head, position.row(), position.column);
    products.for_each(block.rank(), [&](int row, int column, A sum) {
      if (row >= height || column >= columns) return;
      bool const valid = row < rows;
      if constexpr (Step == step::outputs) {
        A const y = valid ? block.fused_multiply_add(sum, memory.divisors[row], A(0)) : A(0);
        out[row * s.length + column * s.channels] = rounded<T>(y);
      } else if constexpr (Step == step::value_gradients) {
        if (valid || mode == grad_mode::overwrite)
          store_or_accumulate_sum(mode, out[row * s.length + column * s.channels],
                                  valid ? sum : A(0));
      } else if (valid) {
        if constexpr (Step == step::key_gradients) {
          A const* const u =
              sums.row_sums(position.pair, causal ? position.tile : 0) + position.column;
          A const factor = factors == nullptr ? A(1) : factors[first + row];
          sum = block.fused_multiply_add(factor, u[column], sum);
        }
        gradient[row * width + column] = sum;
      }
    });
  }
};

SLICESORT_DETAIL_END
