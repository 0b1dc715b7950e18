// SPDX-License-Identifier: Apache-2.0
// Random features: functions of the products of z with the rows of w.
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

// Matrix w of a head.
template <class T>
SLICESORT_HD linear_matrix<T> matrix_of_head(tensor3<T const> w, index_t head) {
  T const* const first = w_of_head(w, head);
  return make_tensor_matrix(first, w.strides().length, w.strides().channels);
}

// Computes random features. For random_exp, stores <w_f, z> to phi, and exp_features_kernel applies
// the exponential when the maxima are known.
template <class T, products Kind>
struct random_features_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;
  using tile = product_tile_t<T, Kind>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_config config;
  tensor3<T const> w;
  linear_features<A> features;

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t column_tiles() const { return count_column_tiles(config.w_rows); }
  index_t blocks() const { return row_tiles::blocks() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    tile_position const position = position_of(block.index(), column_tiles());
    int const rows = position.rows;
    if (rows == 0) return;  // uniform in the block
    index_t const first = position.first;
    linear_matrix<A> const z = make_tensor_matrix<A>(features.z, config.channels, 1);
    tile products;
    products.clear();
    products.add(block, memory, config.channels, make_operand<true>(z, first, 0, rows),
                 make_operand<true>(matrix_of_head(w, position.head), position.column, 0,
                                    config.w_rows - position.column));
    products.for_each(block.rank(), [&](int row, int f, A u) {
      if (row < rows && position.column + f < config.w_rows)
        store(block, (first + row) * config.count + position.column + f, u);
    });
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE void store(Block& block, index_t n, A u) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    A const scale = static_cast<A>(config.scale);
    if (config.kind == kind::random_exp) {
      features.phi[n] = u;
    } else if (config.kind == kind::random_relu) {
      A const scaled = math::product(ops, u, scale);
      features.phi[n] = math::sum(ops, ops.higher(scaled, A(0)), static_cast<A>(config.eps));
      if (features.slopes != nullptr) features.slopes[n] = scaled > A(0) ? scale : A(0);
    } else {
      auto const turn = math::sincos(ops, u);
      features.phi[n] = math::product(ops, turn.sine, scale);
      features.phi[n + config.w_rows] = math::product(ops, turn.cosine, scale);
    }
  }
};

// Computes random_exp's features from <w_f, z>.
template <class A>
struct exp_features_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  feature_config config;
  linear_features<A> features;

  SLICESORT_HD index_t column_tiles() const { return count_column_tiles(config.w_rows); }
  index_t blocks() const { return row_tiles::blocks() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    tile_position const position = position_of(block.index(), column_tiles());
    int const rows = position.rows;
    index_t const first = position.first;
    A const scale = static_cast<A>(config.scale), shift = static_cast<A>(config.eps * config.scale);
    int const f = block.rank() % linear_tile;
    if (position.column + f >= config.w_rows) return;
    for (int row = block.rank() / linear_tile; row < rows; row += linear_threads / linear_tile) {
      index_t const n = (first + row) * config.count + position.column + f;
      A const exponent = math::sum(ops, features.phi[n], -features.maxima[first + row]);
      A const e = math::exponential(ops, math::sum(ops, exponent, -features.norms[first + row]));
      features.phi[n] = block.fused_multiply_add(e, scale, shift);
      if (features.slopes != nullptr) features.slopes[n] = math::product(ops, e, scale);
    }
  }
};

SLICESORT_DETAIL_END
