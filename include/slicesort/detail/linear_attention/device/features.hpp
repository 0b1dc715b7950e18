// SPDX-License-Identifier: Apache-2.0
// Features of queries or keys that need nothing but their row, where they need more of it than
// their element; and of rows whose features are random, z and what its scale depends on.
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

// What the workspace has of the queries, or of the keys: matrices with a row for each.
template <class A>
struct linear_features {
  A* phi;     // [pair][row][features]; null where they are formed as elements are read
  A* slopes;  // likewise; of random_exp and random_relu, if backward wants them
  A* z;       // [pair][row][channels]; of random features, and x of a feature map of the user's
  A* number;  // [pair][row]; random_exp: |z|^2 / 2, random_fourier: |x|
  A* maxima;  // [pair][row]; random_exp: m
};

template <class Feature, class T>
struct feature_rows_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;

  Feature own;
  feature_config config{};
  linear_pairs pairs{};
  linear_side side{}, other{};  // the other one counts for the length of a sample
  linear_operand<T> x{};
  linear_features<A> to{};

  template <class SharedAllocator>
  SLICESORT_HD row_sums<A> shared(SharedAllocator& memory) const {
    return row_sums<A>::shared(memory);
  }
  index_t blocks() const { return pairs.count * side.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    row_sums<A> const sums = shared(block);
    linear_block const at(pairs, block.index(), side.tiles(), 1);
    index_t const sample = at.sample;
    int const rows = side.valid_of_tile(sample, at.tile);
    index_t const keys = other.valid(sample), queries = side.valid(sample);
    index_t const length = keys < queries ? queries : keys;
    index_t const first = at.pair * side.rows + at.row();
    linear_matrix<T> const in = x.of(at);
    auto const element = [&](int row, index_t c) { return in(block, at.row() + row, c); };
    if constexpr (!std::is_same_v<Feature, built_in_feature>) {
      map_own(block, first, at.row(), rows, length, element);
    } else if (is_random(config.kind)) {
      scale_rows(block, sums, first, rows, element);
    } else {
      for_each_row(block, rows, [&](int row) {
        map_row(block, to.phi + (first + row) * config.count, at.row() + row, length,
                [&](index_t c) { return element(row, c); });
      });
    }
  }

 private:
  // z = x, or x times a number of all rows or of each.
  template <class Block, class Element>
  SLICESORT_HD void scale_rows(Block& block, row_sums<A> const& sums, index_t first, int rows,
                               Element const& element) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    A* const z = to.z + first * config.channels;
    bool const fourier = config.kind == kind::random_fourier, exp = config.kind == kind::random_exp;
    A const scale = static_cast<A>(config.scale_of_x);
    auto const z_of = [&](int row, index_t c) {
      A const one = element(row, c);
      return exp ? math::product(numbers{block}, one, scale) : one;
    };
    if (fourier || exp) {
      sums.form(
          block, rows, config.channels,
          [&](int row, index_t c, A sum) {
            A const one = z_of(row, c);
            return block.fused_multiply_add(one, one, sum);
          },
          [&](int row, A square) {
            A const number = fourier ? row_norm(block, square, config.channels,
                                                [&](index_t c) { return element(row, c); })
                                     : math::product(numbers{block}, A(0.5), square);
            to.number[first + row] = number;
            return fourier ? fourier_scale(block, number, static_cast<A>(config.eps)) : number;
          });
    }
    for_each_of_rows(block, rows, config.channels, [&](int row, index_t c) {
      A const one = z_of(row, c);
      z[row * config.channels + c] =
          fourier ? math::product(numbers{block}, one, sums.numbers[row]) : one;
    });
  }

  // cosine_reweighted.
  template <class Block, class Element>
  SLICESORT_HD void map_row(Block& block, A* phi, index_t row, index_t length,
                            Element const& element) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    auto const angle = angle_of_row<A>(block, row, length);
    for_each_of_row(block, config.channels, [&](index_t c) {
      A const positive = ops.higher(element(c), A(0));
      phi[c] = math::product(ops, positive, angle.cosine);
      phi[config.channels + c] = math::product(ops, positive, angle.sine);
    });
  }

  // The user's function, a row a thread. It reads what this thread has written.
  template <class Block, class Element>
  SLICESORT_HD void map_own(Block& block, index_t first, index_t first_row, int rows,
                            index_t length, Element const& element) const {
    for (int row = block.rank(); row < rows; row += linear_threads) {
      A* const z = to.z + (first + row) * config.channels;
      for (index_t c = 0; c < config.channels; ++c) z[c] = element(row, c);
      A* const phi = to.phi + (first + row) * config.count;
      own.map(feature_row{first_row + row, length, config.channels}, static_cast<A const*>(z), phi);
    }
  }
};

SLICESORT_DETAIL_END
