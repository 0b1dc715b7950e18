// SPDX-License-Identifier: Apache-2.0
// Random features: products of z with the rows of w, and what becomes of them.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/tensor_product_tile.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// The matrix of a head, or of all heads.
template <class T>
SLICESORT_HD linear_matrix<T> matrix_of_head(tensor3<T const> w, index_t head) {
  T const* const first = w_of_head(w, head);
  return matrix_of_elements(first, w.strides().length, w.strides().channels);
}

// random_exp's features wait for a maximum: phi gets <w_f, z> for now.
template <class T, products Kind>
struct random_features_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;
  using tile = tile_of_products<T, Kind>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_config config;
  linear_pairs pairs;
  linear_side side;
  tensor3<T const> w;
  linear_features<A> of;

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t column_tiles() const { return tiles_of_columns(config.rows_of_w); }
  index_t blocks() const { return pairs.count * side.tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    linear_block const at(pairs, block.index(), side.tiles(), column_tiles());
    int const rows = side.valid_of_tile(at.sample, at.tile);
    if (rows == 0) return;  // the whole block
    index_t const first = at.pair * side.rows + at.row();
    linear_matrix<A> const z = matrix_of_elements<A>(of.z, config.channels, 1);
    tile products;
    products.clear();
    products.add(
        block, memory, config.channels, operand_of<true>(z, first, 0, rows),
        operand_of<true>(matrix_of_head(w, at.head), at.column, 0, config.rows_of_w - at.column));
    products.each(block.rank(), [&](int row, int f, A u) {
      if (row < rows && at.column + f < config.rows_of_w)
        put(block, (first + row) * config.count + at.column + f, u);
    });
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE void put(Block& block, index_t at, A u) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    A const scale = static_cast<A>(config.scale);
    if (config.kind == kind::random_exp) {
      of.phi[at] = u;
    } else if (config.kind == kind::random_relu) {
      A const scaled = math::product(ops, u, scale);
      of.phi[at] = math::sum(ops, ops.higher(scaled, A(0)), static_cast<A>(config.eps));
      if (of.slopes != nullptr) of.slopes[at] = scaled > A(0) ? scale : A(0);
    } else {
      auto const turn = math::sincos(ops, u);
      of.phi[at] = math::product(ops, turn.sine, scale);
      of.phi[at + config.rows_of_w] = math::product(ops, turn.cosine, scale);
    }
  }
};

// random_exp: of <w_f, z>, features.
template <class A>
struct exp_features_kernel {
  static constexpr int max_threads = linear_threads;

  feature_config config;
  linear_pairs pairs;
  linear_side side;
  linear_features<A> of;

  SLICESORT_HD index_t column_tiles() const { return tiles_of_columns(config.rows_of_w); }
  index_t blocks() const { return pairs.count * side.tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    linear_block const at(pairs, block.index(), side.tiles(), column_tiles());
    int const rows = side.valid_of_tile(at.sample, at.tile);
    index_t const first = at.pair * side.rows + at.row();
    A const scale = static_cast<A>(config.scale), shift = static_cast<A>(config.eps * config.scale);
    int const f = block.rank() % linear_tile;
    if (at.column + f >= config.rows_of_w) return;
    for (int row = block.rank() / linear_tile; row < rows; row += linear_threads / linear_tile) {
      index_t const n = (first + row) * config.count + at.column + f;
      A const above = math::sum(ops, of.phi[n], -of.maxima[first + row]);
      A const e = math::exponential(ops, math::sum(ops, above, -of.number[first + row]));
      of.phi[n] = block.fused_multiply_add(e, scale, shift);
      if (of.slopes != nullptr) of.slopes[n] = math::product(ops, e, scale);
    }
  }
};

SLICESORT_DETAIL_END
