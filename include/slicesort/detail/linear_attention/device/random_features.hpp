// SPDX-License-Identifier: Apache-2.0
// Random features: functions of the products <w_f, z> of a scaled row z with the rows of w.
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

// Computes random features. For random_exp, stores <w_f, z> to phi; exp_features_kernel applies the
// exponential later, when the maxima are known.
template <class T, products Products>
struct random_features_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;
  using tile = product_tile_t<T, Products>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_config config;
  tensor3<T const> w;
  linear_features<A> features;

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t column_tile_count() const { return count_column_tiles(config.w_rows); }
  index_t blocks() const { return row_tiles::blocks() * column_tile_count(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    tile_position const position = position_of(block.index(), column_tile_count());
    int const rows = position.rows;
    if (rows == 0) return;  // uniform in the block
    index_t const row_offset = position.row_offset;
    linear_matrix<A> const z = make_tensor_matrix<A>(features.z, config.channels, 1);
    tile products;
    products.clear();
    products.add(
        block, memory, config.channels, make_operand<true>(z, row_offset, 0, rows),
        make_operand<true>(matrix_of_head(w, pairs.kv_head(position.head)), position.first_column,
                           0, config.w_rows - position.first_column));
    products.for_each(block.rank(), [&](int row, int f, A product) {
      if (row < rows && position.first_column + f < config.w_rows)
        store(block, (row_offset + row) * config.count + position.first_column + f, product);
    });
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE void store(Block& block, index_t n, A product) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    A const scale = static_cast<A>(config.scale);
    if (config.kind == kind::random_exp) {
      features.phi[n] = product;
    } else if (config.kind == kind::random_relu) {
      A const scaled = math::product(ops, product, scale);
      features.phi[n] = math::sum(ops, ops.max(scaled, A(0)), static_cast<A>(config.eps));
      if (features.slopes != nullptr) features.slopes[n] = scaled > A(0) ? scale : A(0);
    } else {
      auto const angle = math::sincos(ops, product);
      features.phi[n] = math::product(ops, angle.sine, scale);
      features.phi[n + config.w_rows] = math::product(ops, angle.cosine, scale);
    }
  }
};

// Computes the features of random_exp from <w_f, z>.
template <class A>
struct exp_features_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  feature_config config;
  linear_features<A> features;

  SLICESORT_HD index_t column_tile_count() const { return count_column_tiles(config.w_rows); }
  index_t blocks() const { return row_tiles::blocks() * column_tile_count(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    tile_position const position = position_of(block.index(), column_tile_count());
    int const rows = position.rows;
    index_t const row_offset = position.row_offset;
    A const scale = static_cast<A>(config.scale),
            scaled_eps = static_cast<A>(config.eps * config.scale);
    int const f = block.rank() % linear_tile;
    if (position.first_column + f >= config.w_rows) return;
    for (int row = block.rank() / linear_tile; row < rows; row += linear_threads / linear_tile) {
      index_t const n = (row_offset + row) * config.count + position.first_column + f;
      A const exponent = math::sum(ops, features.phi[n], -features.maxima[row_offset + row]);
      A const e =
          math::exponential(ops, math::sum(ops, exponent, -features.norms[row_offset + row]));
      features.phi[n] = block.fused_multiply_add(e, scale, scaled_eps);
      if (features.slopes != nullptr) features.slopes[n] = math::product(ops, e, scale);
    }
  }
};

SLICESORT_DETAIL_END
