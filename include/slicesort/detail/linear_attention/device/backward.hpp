// SPDX-License-Identifier: Apache-2.0
// Gradients of queries or keys from the gradients of their features, and dw. Random features take
// three steps: gradients of the products with w, multiplication by w, and the component along the
// row.
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

// Workspace for the gradients of queries or keys.
template <class A>
struct linear_gradients {
  A* phi;   // [pair][row][features]; random features: the first r become the gradient of <w, z>
  A* sums;  // [pair][row]; random_exp: row sums of those gradients
  A* x;     // [pair][row][channels]; random and custom features
};

// Computes the gradients of <w, z> from those of the features.
template <class A>
struct product_gradients_kernel : row_tiles, with_row_sums<A> {
  static constexpr int max_threads = linear_threads;
  feature_config config;
  linear_features<A> features;
  linear_gradients<A> grads;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    row_sums<A> const sums = this->shared(block);
    tile_position const position = position_of(block.index());
    index_t const first = position.first;
    bool const fourier = config.kind == feature_kind::random_fourier;
    sums.compute(
        block, position.rows, config.w_rows,
        [&](int row, index_t f, A sum) {
          index_t const n = (first + row) * config.count + f;
          A gradient;
          if (fourier) {
            index_t const cosine = n + config.w_rows;
            A const cosine_gradient = math::product(ops, grads.phi[cosine], features.phi[n]);
            gradient = block.fused_multiply_add(grads.phi[n], features.phi[cosine],
                                                math::negated(ops, cosine_gradient));
          } else {
            gradient = math::product(ops, grads.phi[n], features.slopes[n]);
          }
          grads.phi[n] = gradient;
          return math::sum(ops, gradient, sum);
        },
        [&](int row, A sum) { return grads.sums[first + row] = sum; });
  }
};

// Computes the gradients of z: those of <w, z> times w.
template <class T, products Kind>
struct times_w_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = product_tile_t<T, Kind>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_config config;
  tensor3<T const> w;
  linear_gradients<A> grads;

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t column_tiles() const { return count_column_tiles(config.channels); }
  index_t blocks() const { return row_tiles::blocks() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    tile_position const position = position_of(block.index(), column_tiles());
    int const rows = position.rows;
    if (rows == 0) return;  // uniform in the block
    index_t const first = position.first;
    linear_matrix<A> const products_with_w = make_tensor_matrix<A>(grads.phi, config.count, 1);
    tile products;
    products.clear();
    products.add(block, memory, config.w_rows, make_operand<true>(products_with_w, first, 0, rows),
                 make_operand<false>(matrix_of_head(w, position.head), 0, position.column,
                                     config.channels - position.column));
    products.for_each(block.rank(), [&](int row, int c, A sum) {
      if (row < rows && position.column + c < config.channels)
        grads.x[(first + row) * config.channels + position.column + c] = sum;
    });
  }
};

// Computes and stores the gradients of rows. This is the last step of random features, and the only
// step of other features.
template <class Feature, class T>
struct row_gradients_kernel : with_row_sums<accumulator_t<T>> {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;

  Feature custom_feature;
  feature_config config{};
  linear_pairs pairs{};
  linear_side side{}, other{};  // both as in feature_rows_kernel
  linear_operand<T> x{};
  linear_features<A> features{};
  linear_gradients<A> grads{};
  tensor4<T> out{};
  grad_mode mode{};

  index_t blocks() const { return pairs.count * side.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    row_sums<A> const sums = this->shared(block);
    tile_position const position(pairs, side, block.index(), 1);
    int const rows = position.rows;
    index_t const first = position.first;
    index_t const valid = side.valid(position.sample), other_valid = other.valid(position.sample);
    index_t const length = valid < other_valid ? other_valid : valid;
    if constexpr (!std::is_same_v<Feature, built_in_feature>)
      custom_gradient(block, position, first, rows, length);
    else if (is_random(config.kind))
      random_gradient(block, sums, position, first, rows);
    else
      elementwise_gradient(block, position, first, rows, length);
    if (mode == grad_mode::overwrite)
      for_each_element(block, side.rows_of_tile(position.tile), config.channels,
                       [&](int row, index_t c) {
                         if (row >= rows) store(position, row, c, A(0));
                       });
  }

 private:
  SLICESORT_HD_INLINE void store(tile_position const& position, int row, index_t c, A sum) const {
    store_or_accumulate_sum(mode, out(position.sample, position.head, position.row() + row, c),
                            sum);
  }

  template <class Block>
  SLICESORT_HD void elementwise_gradient(Block& block, tile_position const& position, index_t first,
                                         int rows, index_t length) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    linear_matrix<T> const rows_of_x = x.matrix(position);
    for_each_row(block, rows, [&](int row) {
      A const* const dphi = grads.phi + (first + row) * config.count;
      row_angle<A> angle{};
      if (config.kind == kind::cosine_reweighted)
        angle = angle_of_row<A>(block, position.row() + row, length);
      for_each_column(block, config.channels, [&](index_t c) {
        A const element = rows_of_x(block, position.row() + row, c);
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
        store(position, row, c, d);
      });
    });
  }

  template <class Block>
  SLICESORT_HD void random_gradient(Block& block, row_sums<A> const& sums,
                                    tile_position const& position, index_t first, int rows) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    A const* const z = features.z + first * config.channels;
    A const* const z_gradient = grads.x + first * config.channels;
    bool const fourier = config.kind == kind::random_fourier, exp = config.kind == kind::random_exp;
    if (fourier)
      sums.compute(
          block, rows, config.channels,
          [&](int row, index_t c, A sum) {
            index_t const n = row * config.channels + c;
            return block.fused_multiply_add(z_gradient[n], z[n], sum);
          },
          [&](int row, A along_row) {
            A const norm = features.norms[first + row];
            A const ratio =
                norm > A(0)
                    ? block.divide(fourier_divisor(block, norm, static_cast<A>(config.eps)), norm)
                    : A(0);
            return math::product(ops, along_row, ratio);
          });
    for_each_row(block, rows, [&](int row) {
      A const along_row = fourier ? sums.results[row] : exp ? grads.sums[first + row] : A(0);
      A const scale =
          fourier ? fourier_scale(block, features.norms[first + row], static_cast<A>(config.eps))
                  : static_cast<A>(config.x_scale);
      for_each_column(block, config.channels, [&](index_t c) {
        index_t const n = row * config.channels + c;
        A dx = z_gradient[n];
        if (fourier || exp) {
          dx = block.fused_multiply_add(math::negated(ops, along_row), z[n], dx);
          dx = math::product(ops, dx, scale);
        }
        store(position, row, c, dx);
      });
    });
  }

  template <class Block>
  SLICESORT_HD void custom_gradient(Block& block, tile_position const& position, index_t first,
                                    int rows, index_t length) const {
    for (int row = block.rank(); row < rows; row += linear_threads) {
      A const* const z = features.z + (first + row) * config.channels;
      A const* const dphi = grads.phi + (first + row) * config.count;
      A* const dx = grads.x + (first + row) * config.channels;
      custom_feature_backward(
          custom_feature, feature_row{position.row() + row, length, config.channels}, z, dphi, dx);
      for (index_t c = 0; c < config.channels; ++c) store(position, row, c, dx[c]);
    }
  }
};

// Adds the partial dw of the pairs in order, and stores dw after the last pair. One element per
// thread.
template <class T>
struct w_gradient_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_pairs pairs;
  A const* partial;   // [pair][feature][channel]
  bool begins, ends;  // true if these are the first (last) pairs
  A* sums;            // sums of the earlier pairs, laid out as dw
  tensor3<T> dw;      // with one head, summed over all heads
  grad_mode mode;

  SLICESORT_HD index_t size() const { return dw.extents().length * dw.extents().channels; }
  index_t blocks() const {
    return divide_up(w_heads(dw.extents()) * size(), index_t{linear_threads});
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = dw.extents();
    index_t const n = block.index() * linear_threads + block.rank();
    if (n >= w_heads(e) * size()) return;
    index_t const head = n / size(), element = n % size();
    A sum = begins ? A(0) : sums[n];
    for (index_t pair = 0; pair < pairs.count; ++pair)
      if (w_heads(e) == 1 || pairs.head(pair) == head)
        sum = block.fused_multiply_add(sum, A(1), partial[pair * size() + element]);
    if (ends)
      store_or_accumulate_sum(mode, dw(head, element / e.channels, element % e.channels), sum);
    else
      sums[n] = sum;
  }
};

SLICESORT_DETAIL_END
