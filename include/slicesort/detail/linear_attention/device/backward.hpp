// SPDX-License-Identifier: Apache-2.0
// From gradients of features, those of queries or keys, and dw. Through random features in three
// steps: the gradients of their products with w, those times w, and the component along the row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/random_features.hpp>
#include <slicesort/detail/linear_attention/device/row_sums.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/tensor_product_tile.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// The gradients of the rows of a side, in the workspace.
template <class A>
struct linear_gradients {
  A* phi;   // [pair][row][features]; of random features, r of them become those of <w, z>
  A* sums;  // [pair][row]; random_exp: the sums of these
  A* x;     // [pair][row][channels]; of random features and a feature map of the user's
};

template <class A>
struct product_gradients_kernel {
  static constexpr int max_threads = linear_threads;

  feature_config config;
  linear_pairs pairs;
  linear_side side;
  linear_features<A> of;
  linear_gradients<A> to;

  template <class SharedAllocator>
  SLICESORT_HD row_sums<A> shared(SharedAllocator& memory) const {
    return row_sums<A>::shared(memory);
  }
  index_t blocks() const { return pairs.count * side.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    row_sums<A> const sums = shared(block);
    linear_block const at(pairs, block.index(), side.tiles(), 1);
    int const rows = side.valid_of_tile(at.sample, at.tile);
    index_t const first = at.pair * side.rows + at.row();
    bool const fourier = config.kind == feature_kind::random_fourier;
    sums.form(
        block, rows, config.rows_of_w,
        [&](int row, index_t f, A sum) {
          index_t const n = (first + row) * config.count + f;
          A h;
          if (fourier) {
            index_t const cosine = n + config.rows_of_w;
            A const of_cosine = math::product(ops, to.phi[cosine], of.phi[n]);
            h = block.fused_multiply_add(to.phi[n], of.phi[cosine], math::negated(ops, of_cosine));
          } else {
            h = math::product(ops, to.phi[n], of.slopes[n]);
          }
          to.phi[n] = h;
          return math::sum(ops, h, sum);
        },
        [&](int row, A sum) { return to.sums[first + row] = sum; });
  }
};

template <class T, products Kind>
struct times_w_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = tile_of_products<T, Kind>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_config config;
  linear_pairs pairs;
  linear_side side;
  tensor3<T const> w;
  linear_gradients<A> to;

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t column_tiles() const { return tiles_of_columns(config.channels); }
  index_t blocks() const { return pairs.count * side.tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    linear_block const at(pairs, block.index(), side.tiles(), column_tiles());
    int const rows = side.valid_of_tile(at.sample, at.tile);
    if (rows == 0) return;  // the whole block
    index_t const first = at.pair * side.rows + at.row();
    linear_matrix<A> const h = matrix_of_elements<A>(to.phi, config.count, 1);
    tile products;
    products.clear();
    products.add(
        block, memory, config.rows_of_w, operand_of<true>(h, first, 0, rows),
        operand_of<false>(matrix_of_head(w, at.head), 0, at.column, config.channels - at.column));
    products.each(block.rank(), [&](int row, int c, A sum) {
      if (row < rows && at.column + c < config.channels)
        to.x[(first + row) * config.channels + at.column + c] = sum;
    });
  }
};

// The last step, which stores; of other features the only one.
template <class Feature, class T>
struct pull_rows_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;

  Feature own;
  feature_config config{};
  linear_pairs pairs{};
  linear_side side{}, other{};  // as feature_rows_kernel
  linear_operand<T> x{};
  linear_features<A> of{};
  linear_gradients<A> gradients{};
  tensor4<T> to{};
  grad_mode mode{};

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
    index_t const first = at.pair * side.rows + at.row();
    index_t const mine = side.valid(sample), others = other.valid(sample);
    index_t const length = mine < others ? others : mine;
    if constexpr (!std::is_same_v<Feature, built_in_feature>)
      pull_own(block, at, first, rows, length);
    else if (is_random(config.kind))
      pull_random(block, sums, at, first, rows);
    else
      pull_elements(block, at, first, rows, length);
    if (mode == grad_mode::overwrite)
      for_each_of_rows(block, side.rows_of_tile(at.tile), config.channels, [&](int row, index_t c) {
        if (row >= rows) store(at, row, c, A(0));
      });
  }

 private:
  SLICESORT_HD_INLINE void store(linear_block const& at, int row, index_t c, A sum) const {
    store_or_accumulate_sum(mode, to(at.sample, at.head, at.row() + row, c), sum);
  }

  template <class Block>
  SLICESORT_HD void pull_elements(Block& block, linear_block const& at, index_t first, int rows,
                                  index_t length) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    linear_matrix<T> const in = x.of(at);
    for_each_row(block, rows, [&](int row) {
      A const* const dphi = gradients.phi + (first + row) * config.count;
      row_angle<A> angle{};
      if (config.kind == kind::cosine_reweighted)
        angle = angle_of_row<A>(block, at.row() + row, length);
      for_each_of_row(block, config.channels, [&](index_t c) {
        A const element = in(block, at.row() + row, c);
        bool const positive = element > A(0);
        A d = dphi[c];
        if (config.kind == kind::elu_plus_one) {
          d = math::product(ops, d, positive ? A(1) : math::exponential(ops, element));
        } else {
          if (config.kind == kind::cosine_reweighted)
            d = block.fused_multiply_add(dphi[config.channels + c], angle.sine,
                                         math::product(ops, d, angle.cosine));
          if (!positive) d = A(0);
        }
        store(at, row, c, d);
      });
    });
  }

  template <class Block>
  SLICESORT_HD void pull_random(Block& block, row_sums<A> const& sums, linear_block const& at,
                                index_t first, int rows) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    A const* const z = of.z + first * config.channels;
    A const* const gz = gradients.x + first * config.channels;
    bool const fourier = config.kind == kind::random_fourier, exp = config.kind == kind::random_exp;
    if (fourier)
      sums.form(
          block, rows, config.channels,
          [&](int row, index_t c, A sum) {
            index_t const n = row * config.channels + c;
            return block.fused_multiply_add(gz[n], z[n], sum);
          },
          [&](int row, A along) {
            A const norm = of.number[first + row];
            A const ratio =
                norm > A(0)
                    ? block.divide(fourier_divisor(block, norm, static_cast<A>(config.eps)), norm)
                    : A(0);
            return math::product(ops, along, ratio);
          });
    for_each_row(block, rows, [&](int row) {
      A const along = fourier ? sums.numbers[row] : exp ? gradients.sums[first + row] : A(0);
      A const scale = fourier
                          ? fourier_scale(block, of.number[first + row], static_cast<A>(config.eps))
                          : static_cast<A>(config.scale_of_x);
      for_each_of_row(block, config.channels, [&](index_t c) {
        index_t const n = row * config.channels + c;
        A dx = gz[n];
        if (fourier || exp) {
          dx = block.fused_multiply_add(math::negated(ops, along), z[n], dx);
          dx = math::product(ops, dx, scale);
        }
        store(at, row, c, dx);
      });
    });
  }

  template <class Block>
  SLICESORT_HD void pull_own(Block& block, linear_block const& at, index_t first, int rows,
                             index_t length) const {
    for (int row = block.rank(); row < rows; row += linear_threads) {
      A const* const in = of.z + (first + row) * config.channels;
      A const* const dphi = gradients.phi + (first + row) * config.count;
      A* const dx = gradients.x + (first + row) * config.channels;
      own.pull(feature_row{at.row() + row, length, config.channels}, in, dphi, dx);
      for (index_t c = 0; c < config.channels; ++c) store(at, row, c, dx[c]);
    }
  }
};

// dw: adds the parts of pairs, in order, and stores it with the last of them. A thread takes an
// element.
template <class T>
struct w_gradient_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_pairs pairs;
  A const* parts;     // [pair][feature][channel]
  bool begins, ends;  // whether these pairs are the first, the last
  A* sums;            // as dw
  tensor3<T> dw;      // of one head: the sum over all heads
  grad_mode mode;

  SLICESORT_HD index_t size() const { return dw.extents().length * dw.extents().channels; }
  index_t blocks() const {
    return divide_up(heads_of_w(dw.extents()) * size(), index_t{linear_threads});
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = dw.extents();
    index_t const n = block.index() * linear_threads + block.rank();
    if (n >= heads_of_w(e) * size()) return;
    index_t const head = n / size(), element = n % size();
    A sum = begins ? A(0) : sums[n];
    for (index_t pair = 0; pair < pairs.count; ++pair)
      if (heads_of_w(e) == 1 || pairs.head(pair) == head)
        sum = block.fused_multiply_add(sum, A(1), parts[pair * size() + element]);
    if (ends)
      store_or_accumulate_sum(mode, dw(head, element / e.channels, element % e.channels), sum);
    else
      sums[n] = sum;
  }
};

SLICESORT_DETAIL_END
