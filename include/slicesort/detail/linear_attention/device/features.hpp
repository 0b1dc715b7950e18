// SPDX-License-Identifier: Apache-2.0
// Features that depend on the whole row of a query or key, not only on one element. For random
// features: the scaled row z, and the norm of each row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/row_sums.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Workspace for the features of queries or keys.
template <class A>
struct linear_features {
  A* phi;     // [pair][row][features]; null if computed while loading
  A* slopes;  // [pair][row][features]: derivative in <w, z>; random_exp and random_relu, backward
  A* z;       // [pair][row][channels]; z of random features, or x of a custom feature map
  A* norms;   // [pair][row]; random_exp: |z|^2 / 2, random_fourier: |x|
  A* maxima;  // [pair][row]; random_exp: maximum of <w, z>, for keys then as in key_maxima_kernel
};

template <class Feature, class T>
struct feature_rows_kernel : row_tiles, with_row_sums<accumulator_t<T>> {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;

  Feature custom_feature;
  feature_config config{};
  linear_side other_side{};  // keys for queries, queries for keys; the longer side sets the length
  index_t const* first_rows = nullptr;  // [sample]: as in linear_carried, for user-defined maps
  linear_operand<T> x{};
  linear_features<A> features{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    row_sums<A> const sums = this->shared(block);
    tile_position const position = position_of(block.index());
    index_t const sample = position.sample;
    int const rows = position.rows;
    index_t const other_valid_count = other_side.valid_row_count(sample),
                  valid_count = side.valid_row_count(sample);
    index_t const length = other_valid_count < valid_count ? valid_count : other_valid_count;
    index_t const row_offset = position.row_offset;
    linear_matrix<T> const rows_of_x = x.matrix(position);
    auto const element = [&](int row, index_t c) {
      return rows_of_x(block, position.first_row() + row, c);
    };
    if constexpr (!std::is_same_v<Feature, built_in_feature>) {
      bool const is_piece = first_rows != nullptr;
      map_custom(block, row_offset, position.first_row() + (is_piece ? first_rows[sample] : 0),
                 rows, is_piece ? 0 : length, element);
    } else if (is_random(config.kind)) {
      scale_rows(block, sums, row_offset, rows, element);
    } else if (config.is_elementwise()) {
      element_map<A> const map{config.kind, static_cast<A>(config.eps)};
      for_each_element(block, rows, config.channels, [&](int row, index_t c) {
        A phi[1] = {element(row, c)};
        map.apply(block, phi);
        features.phi[(row_offset + row) * config.count + c] = phi[0];
      });
    } else {
      for_each_row(block, rows, [&](int row) {
        map_cosine_reweighted(block, features.phi + (row_offset + row) * config.count,
                              position.first_row() + row, length,
                              [&](index_t c) { return element(row, c); });
      });
    }
  }

 private:
  // Computes z = x times a constant, or a factor per row for random_fourier.
  template <class Block, class Element>
  SLICESORT_HD void scale_rows(Block& block, row_sums<A> const& sums, index_t row_offset, int rows,
                               Element const& element) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    A* const z = features.z + row_offset * config.channels;
    bool const is_fourier = config.kind == kind::random_fourier,
               is_exp = config.kind == kind::random_exp;
    A const scale = static_cast<A>(config.x_scale);
    auto const unnormalized_z = [&](int row, index_t c) {
      A const e = element(row, c);
      return is_exp ? math::product(arithmetic{block}, e, scale) : e;
    };
    if (is_fourier || is_exp) {
      sums.compute(
          block, rows, config.channels,
          [&](int row, index_t c, A sum) {
            A const e = unnormalized_z(row, c);
            return block.fused_multiply_add(e, e, sum);
          },
          [&](int row, A square) {
            A const norm = is_fourier ? row_norm(block, square, config.channels,
                                                 [&](index_t c) { return element(row, c); })
                                      : math::product(arithmetic{block}, A(0.5), square);
            features.norms[row_offset + row] = norm;
            return is_fourier ? fourier_scale(block, norm, static_cast<A>(config.eps)) : norm;
          });
    }
    for_each_element(block, rows, config.channels, [&](int row, index_t c) {
      A const e = unnormalized_z(row, c);
      z[row * config.channels + c] =
          is_fourier ? math::product(arithmetic{block}, e, sums.results[row]) : e;
    });
  }

  template <class Block, class Element>
  SLICESORT_HD void map_cosine_reweighted(Block& block, A* phi, index_t row, index_t length,
                                          Element const& element) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    auto const angle = angle_of_row<A>(block, row, length);
    for_each_column(block, config.channels, [&](index_t c) {
      A const positive = ops.max(element(c), A(0));
      phi[c] = math::product(ops, positive, angle.cosine);
      phi[config.channels + c] = math::product(ops, positive, angle.sine);
    });
  }

  // Calls the user-defined map, one row per thread. A thread reads only
  // what it wrote, so no barrier is needed.
  template <class Block, class Element>
  SLICESORT_HD void map_custom(Block& block, index_t row_offset, index_t first_row, int rows,
                               index_t length, Element const& element) const {
    for (int row = block.rank(); row < rows; row += linear_threads) {
      A* const z = features.z + (row_offset + row) * config.channels;
      for (index_t c = 0; c < config.channels; ++c) z[c] = element(row, c);
      A* const phi = features.phi + (row_offset + row) * config.count;
      custom_feature.map(feature_row{first_row + row, length, config.channels},
                         static_cast<A const*>(z), phi);
    }
  }
};

SLICESORT_DETAIL_END
