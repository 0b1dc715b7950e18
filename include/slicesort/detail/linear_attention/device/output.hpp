// SPDX-License-Identifier: Apache-2.0
// Outputs and gradients of the rows of a tile. Each is lhs times the sums of the earlier tiles
// (later tiles for gradients of keys and values, all tiles if not causal). Causal calls add the
// query-key pairs inside the tile: products of their weights and partner rows. params.hpp defines
// S, U, g and c.
//
//   step             row      lhs     sums     weights of pairs      partner rows
//   outputs          query i  phi(q)   S        <phi(q_i), phi(k_j)>  v_j
//   query_gradients  query i  g        S^T      <g_i, v_j>            phi(k_j)
//   value_gradients  key j    phi(k)   U        <phi(k_j), phi(q_i)>  g_i
//   key_gradients    key j    v        U^T      <v_j, g_i> + c_i      phi(q_i)
//
// Only pairs with j <= i contribute. Partners are the keys j of a query i, or the queries i of a
// key j. The weights are products of lhs rows and rhs rows, where rhs belongs to the partners.
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

// Result of a kernel; see the table above.
enum class output_step { outputs, query_gradients, value_gradients, key_gradients };

template <class T, output_step Step, products Products>
struct linear_output_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = product_tile_t<T, Products>;
  static constexpr int min_blocks = tile::min_blocks;
  using step = output_step;
  // True if the rows of the result are keys.
  static constexpr bool rows_are_keys =
      Step == step::value_gradients || Step == step::key_gradients;
  // True if the columns of the result are rows of S or U.
  static constexpr bool transposed = Step == step::query_gradients || Step == step::key_gradients;
  // True if `lhs` and `rhs` are features.
  static constexpr bool operands_are_features =
      Step == step::outputs || Step == step::value_gradients;

  bool causal;
  linear_side partner_side;
  linear_operand<T, operands_are_features> lhs, rhs;
  linear_operand<T, !operands_are_features> partner_rows;
  index_t inner_width, width;  // columns of lhs and rhs; columns of the result
  tile_sums<A> sums;
  A const* lhs_factors;  // [pair of k][row]: rescales lhs for the product with the sums, or null
  A const* maxima;       // [pair of k][key]: running maxima; null if not random_exp
  A const* weight_sum_grads;  // [pair][query]: c, for key_gradients
  divisor_config divisor;
  tensor4<T> results;  // destination of outputs and value_gradients
  grad_mode mode;
  A* feature_grads;  // destination of the other steps, or if not null: [pair][row][width]

  struct shared_memory {
    typename tile::operands product;
    typename tile::weights weights;  // causal only
    A* divisors;  // weight sum d of each row, later the reciprocal of its divisor
    A* partial;   // upper half of the partial sums of d, [sum][row]
  };
  template <class SharedAllocator>
  SLICESORT_HD shared_memory shared(SharedAllocator& allocator) const {
    shared_memory memory;
    memory.product = tile::shared(allocator);
    memory.weights = memory.product.lhs;  // not null, so the compiler may hoist the address
    if (causal) memory.weights = tile::shared_weights(allocator);
    memory.divisors = memory.partial = nullptr;
    if constexpr (Step == step::outputs) {
      memory.divisors = allocator.template allocate<A>(linear_tile);
      memory.partial = allocator.template allocate<A>(std::size_t{sums_per_thread} * linear_tile);
    }
    return memory;
  }
  SLICESORT_HD index_t column_tile_count() const { return count_column_tiles(width); }
  index_t blocks() const { return row_tiles::blocks() * column_tile_count(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    shared_memory const memory = shared(block);
    tile_position const position = position_of(block.index(), column_tile_count());
    int const rows = position.rows;
    if (causal && rows > 0) compute_weights(block, memory, position, rows);
    tile products;
    products.clear();
    if (rows > 0) {
      if (includes_sums(position)) add_sums(block, memory, position, rows, products);
      if (causal) add_own_tile(block, memory, position, products);
      if constexpr (Step == step::outputs) invert_divisors(block, memory, rows);
    }
    store(block, memory, position, rows, products);
  }

 private:
  static constexpr int sums_per_thread = partials_per_row / 2;
  static_assert(sums_per_thread == 8, "for_each_lhs takes 8");

  // True except for gradients of keys and values from the later heads of a group: the sums over the
  // later tiles belong to the first one.
  SLICESORT_HD_INLINE bool includes_sums(tile_position const& position) const {
    return !rows_are_keys || this->pairs.group == 1 ||
           this->pairs.kv_pair(position.pair) * this->pairs.group == position.pair;
  }

  SLICESORT_HD_INLINE index_t row_offset(tile_position const& position,
                                         linear_side const& rows_side) const {
    return position.pair * rows_side.rows + position.first_row();
  }

  template <class Block>
  SLICESORT_HD_INLINE void add_sums(Block& block, shared_memory const& memory,
                                    tile_position const& position, int rows, tile& products) const {
    A const* const tile_factors =
        lhs_factors == nullptr ? nullptr : lhs_factors + this->kv_row_offset(position);
    index_t const tile_of_sums = causal ? position.tile : 0;
    auto const lhs_rows =
        make_operand<true>(lhs.matrix(position), position.first_row(), 0, rows, tile_factors);
    auto const rhs_sums = make_operand<transposed>(
        sums.matrix(this->pairs.kv_pair(position.pair), tile_of_sums),
        transposed ? position.first_column : 0, transposed ? 0 : position.first_column,
        width - position.first_column);
    if constexpr (Step == step::outputs) {
      // Partial sums of <phi(q), Z>: two threads per row, each with half of the sums.
      A const* const z = sums.column_sums(this->pairs.kv_pair(position.pair), tile_of_sums);
      int const row = block.rank() % linear_tile, half = block.rank() / linear_tile;
      A partial[static_cast<std::size_t>(sums_per_thread)] = {};
      products.add(
          block, memory.product, inner_width, lhs_rows, rhs_sums, [&](index_t f, int count) {
            SLICESORT_NO_UNROLL
            for (int group = 0; group < count; group += sums_per_thread)
              if ((f + group) / sums_per_thread % 2 == half)
                tile::for_each_lhs(memory.product, row, group, count, [&](int i, A value) {
                  partial[i] = block.fused_multiply_add(value, z[f + group + i], partial[i]);
                });
          });
      reduce_weight_sum(block, memory, row, half == 0, partial);
    } else {
      products.add(block, memory.product, inner_width, lhs_rows, rhs_sums);
    }
  }
  template <class Block>
  SLICESORT_HD_INLINE void reduce_weight_sum(
      Block& block, shared_memory const& memory, int row, bool is_lower_half,
      A (&partial)[static_cast<std::size_t>(sums_per_thread)]) const {
    SLICESORT_UNROLL
    for (int i = 0; i < sums_per_thread; ++i)
      if (!is_lower_half) memory.partial[i * linear_tile + row] = partial[i];
    block.sync();
    if (!is_lower_half) return;
    SLICESORT_UNROLL
    for (int i = 0; i < sums_per_thread; ++i)
      partial[i] =
          block.fused_multiply_add(partial[i], A(1), memory.partial[i * linear_tile + row]);
    memory.divisors[row] = fold_in_registers(block, partial);
  }

  // Adds the partner rows of the tile itself, times the weights of the pairs.
  template <class Block>
  SLICESORT_HD_INLINE void add_own_tile(Block& block, shared_memory const& memory,
                                        tile_position const& position, tile& products) const {
    int const partners = partner_side.valid_rows_in_tile(position.sample, position.tile);
    products.add_triangle(
        block, memory.product, memory.weights, partners, rows_are_keys,
        make_operand<false>(partner_rows.matrix(position), position.first_row(),
                            position.first_column, width - position.first_column));
  }
  // Computes the weights of the query-key pairs inside the tile.
  template <class Block>
  SLICESORT_HD_INLINE void compute_weights(Block& block, shared_memory const& memory,
                                           tile_position const& position, int rows) const {
    int const partners = partner_side.valid_rows_in_tile(position.sample, position.tile);
    tile weights;
    weights.clear();
    weights.add(block, memory.product, inner_width,
                make_operand<true>(lhs.matrix(position), position.first_row(), 0, rows),
                make_operand<true>(rhs.matrix(position), position.first_row(), 0, partners));
    weights.for_each(block.rank(), [&](int row, int partner, A weight) {
      auto& out = tile::weight(memory.weights, row, partner);
      out = static_cast<std::decay_t<decltype(out)>>(
          mask_and_rescale(block, position, row, partner, partners, weight));
    });
  }
  // Computes the weight of a pair from the product <lhs, rhs>; 0 for masked pairs. Padding keys
  // need no mask, because their features are zeros.
  template <class Block>
  SLICESORT_HD_INLINE A mask_and_rescale(Block& block,
                                         [[maybe_unused]] tile_position const& position, int row,
                                         int partner, int partners, A weight) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    int const query = rows_are_keys ? partner : row, key = rows_are_keys ? row : partner;
    if (key > query || position.first_row() + query >= side.rows ||
        (rows_are_keys && partner >= partners))
      return A(0);
    if constexpr (Step == step::key_gradients)
      weight = math::sum(ops, weight, weight_sum_grads[row_offset(position, side) + query]);
    if (maxima == nullptr) return weight;
    A const* const tile_maxima = maxima + this->kv_row_offset(position);
    return math::product(
        ops, weight, math::exponential(ops, math::sum(ops, tile_maxima[key], -tile_maxima[query])));
  }

  // Replaces the weight sum d of each row by the reciprocal of its divisor.
  template <class Block>
  SLICESORT_HD_INLINE void invert_divisors(Block& block, shared_memory const& memory,
                                           int rows) const {
    block.sync();
    int const row = block.rank();
    if (row < rows) {
      A weight_sum = memory.divisors[row];
      if (causal)
        weight_sum = block.fused_multiply_add(weight_sum, A(1), sum_weights(block, memory, row));
      memory.divisors[row] = evaluate_divisor(block, divisor, weight_sum).inverse;
    }
    block.sync();
  }
  template <class Block>
  SLICESORT_HD_INLINE A sum_weights(Block& block, shared_memory const& memory, int row) const {
    A partial[static_cast<std::size_t>(partials_per_row)];
    SLICESORT_UNROLL
    for (int l = 0; l < partials_per_row; ++l) {
      partial[l] = A(0);
      for (int key = l; key <= row; key += partials_per_row)
        partial[l] = block.fused_multiply_add(
            static_cast<A>(tile::weight(memory.weights, row, key)), A(1), partial[l]);
    }
    return fold_in_registers(block, partial);
  }

  // Stores the results of the tile, and zeros to padding rows of tensors.
  template <class Block>
  SLICESORT_HD_INLINE void store(Block& block, shared_memory const& memory,
                                 tile_position const& position, int rows,
                                 tile const& products) const {
    int const height = side.rows_in_tile(position.tile),
              columns = clamp_to_tile(width - position.first_column);
    index_t const first = row_offset(position, side);
    strides4 const s = results.strides();
    [[maybe_unused]] A* const gradient = feature_grads + first * width + position.first_column;
    T* const out =
        results.data() == nullptr
            ? nullptr
            : &results(position.sample, position.head, position.first_row(), position.first_column);
    products.for_each(block.rank(), [&](int row, int column, A sum) {
      if (row >= height || column >= columns) return;
      bool const is_valid = row < rows;
      if constexpr (Step == step::outputs) {
        A const y = is_valid ? block.fused_multiply_add(sum, memory.divisors[row], A(0)) : A(0);
        if (feature_grads != nullptr)
          gradient[row * width + column] = y;
        else
          out[row * s.length + column * s.channels] = rounded<T>(y);
      } else if constexpr (Step == step::value_gradients) {
        if (feature_grads != nullptr)
          gradient[row * width + column] = sum;
        else if (is_valid || mode == grad_mode::overwrite)
          store_or_accumulate_sum(mode, out[row * s.length + column * s.channels],
                                  is_valid ? sum : A(0));
      } else if (is_valid) {
        if constexpr (Step == step::key_gradients) {
          if (includes_sums(position)) {
            A const* const u =
                sums.column_sums(this->pairs.kv_pair(position.pair), causal ? position.tile : 0) +
                position.first_column;
            A const factor =
                lhs_factors == nullptr ? A(1) : lhs_factors[this->kv_row_offset(position) + row];
            sum = block.fused_multiply_add(factor, u[column], sum);
          }
        }
        gradient[row * width + column] = sum;
      }
    });
  }
};

SLICESORT_DETAIL_END
