// SPDX-License-Identifier: Apache-2.0
// Gradients of queries or keys from the gradients of their features, and dw. Random features take
// three kernels, for the gradients of <w, z>, of z, and of the rows.
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
  A* phi;   // [pair][row][features]: dphi; of random features later the gradients of <w, z>
  A* sums;  // [pair][row]: sums of the gradients of <w, z>, for random_exp
  A* x;     // [pair][row][channels]: gradients of z, or dx of a custom feature map
};

// Replaces the gradients of random features by the gradients of <w, z>.
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
    index_t const row_offset = position.row_offset;
    bool const is_fourier = config.kind == feature_kind::random_fourier;
    sums.compute(
        block, position.rows, config.w_rows,
        [&](int row, index_t f, A sum) {
          index_t const n = (row_offset + row) * config.count + f;
          A gradient;
          if (is_fourier) {
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
        [&](int row, A sum) { return grads.sums[row_offset + row] = sum; });
  }
};

// Computes the gradients of z, the gradients of <w, z> times w.
template <class T, products Products>
struct times_w_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = product_tile_t<T, Products>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_config config;
  tensor3<T const> w;
  linear_gradients<A> grads;

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t column_tile_count() const { return count_column_tiles(config.channels); }
  index_t blocks() const { return row_tiles::blocks() * column_tile_count(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    tile_position const position = position_of(block.index(), column_tile_count());
    int const rows = position.rows;
    if (rows == 0) return;  // uniform in the block
    index_t const row_offset = position.row_offset;
    linear_matrix<A> const products_with_w = make_tensor_matrix<A>(grads.phi, config.count, 1);
    tile products;
    products.clear();
    products.add(
        block, memory, config.w_rows, make_operand<true>(products_with_w, row_offset, 0, rows),
        make_operand<false>(matrix_of_head(w, pairs.kv_head(position.head)), 0,
                            position.first_column, config.channels - position.first_column));
    products.for_each(block.rank(), [&](int row, int c, A sum) {
      if (row < rows && position.first_column + c < config.channels)
        grads.x[(row_offset + row) * config.channels + position.first_column + c] = sum;
    });
  }
};

// Computes the gradients of rows and stores them, to the workspace if the call has states. The last
// kernel for random features, and the only kernel for other features.
template <class Feature, class T, bool StoresToWorkspace>
struct row_gradients_kernel : with_row_sums<accumulator_t<T>> {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using kind = feature_kind;

  Feature custom_feature;
  feature_config config{};
  linear_pairs pairs{};
  linear_side side{}, other_side{};  // as in feature_rows_kernel
  linear_operand<T> x{};
  linear_features<A> features{};
  linear_gradients<A> grads{};
  tensor4<T> out{};
  grad_mode mode{};
  // With StoresToWorkspace only.
  index_t const* first_rows = nullptr;  // as in feature_rows_kernel
  A* rows_out = nullptr;                // [pair][row][channels]: destination instead of `out`

  index_t blocks() const { return pairs.count * side.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    row_sums<A> const sums = this->shared(block);
    tile_position const position(pairs, side, block.index(), 1);
    int const rows = position.rows;
    index_t const row_offset = position.row_offset;
    index_t const valid_count = side.valid_row_count(position.sample),
                  other_valid_count = other_side.valid_row_count(position.sample);
    index_t const length = valid_count < other_valid_count ? other_valid_count : valid_count;
    if constexpr (!std::is_same_v<Feature, built_in_feature>)
      store_custom_gradient(block, position, row_offset, rows, length);
    else if (is_random(config.kind))
      store_random_gradient(block, sums, position, row_offset, rows);
    else
      store_elementwise_gradient(block, position, row_offset, rows, length);
    if (mode == grad_mode::overwrite)
      for_each_element(block, side.rows_in_tile(position.tile), config.channels,
                       [&](int row, index_t c) {
                         if (row >= rows) store(position, row, c, A(0));
                       });
  }

 private:
  SLICESORT_HD_INLINE void store(tile_position const& position, int row, index_t c, A dx) const {
    if constexpr (StoresToWorkspace)
      rows_out[(position.row_offset + row) * config.channels + c] = dx;
    else
      store_or_accumulate_sum(
          mode, out(position.sample, position.head, position.first_row() + row, c), dx);
  }

  template <class Block>
  SLICESORT_HD void store_elementwise_gradient(Block& block, tile_position const& position,
                                               index_t row_offset, int rows, index_t length) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    linear_matrix<T> const rows_of_x = x.matrix(position);
    for_each_row(block, rows, [&](int row) {
      A const* const dphi = grads.phi + (row_offset + row) * config.count;
      row_angle<A> angle{};
      if (config.kind == kind::cosine_reweighted)
        angle = angle_of_row<A>(block, position.first_row() + row, length);
      for_each_column(block, config.channels, [&](index_t c) {
        A const element = rows_of_x(block, position.first_row() + row, c);
        bool const is_positive = element > A(0);
        A dx = dphi[c];
        if (config.kind == kind::elu_plus_one) {
          dx = math::product(ops, dx, is_positive ? A(1) : math::exponential(ops, element));
        } else {
          if (config.kind == kind::cosine_reweighted)
            dx = block.fused_multiply_add(dphi[config.channels + c], angle.sine,
                                          math::product(ops, dx, angle.cosine));
          if (!is_positive) dx = A(0);
        }
        store(position, row, c, dx);
      });
    });
  }

  template <class Block>
  SLICESORT_HD void store_random_gradient(Block& block, row_sums<A> const& sums,
                                          tile_position const& position, index_t row_offset,
                                          int rows) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    A const* const z = features.z + row_offset * config.channels;
    A const* const z_gradient = grads.x + row_offset * config.channels;
    bool const is_fourier = config.kind == kind::random_fourier,
               is_exp = config.kind == kind::random_exp;
    if (is_fourier)
      sums.compute(
          block, rows, config.channels,
          [&](int row, index_t c, A sum) {
            index_t const n = row * config.channels + c;
            return block.fused_multiply_add(z_gradient[n], z[n], sum);
          },
          [&](int row, A dot_with_row) {
            A const norm = features.norms[row_offset + row];
            A const ratio =
                norm > A(0)
                    ? block.divide(fourier_divisor(block, norm, static_cast<A>(config.eps)), norm)
                    : A(0);
            return math::product(ops, dot_with_row, ratio);
          });
    for_each_row(block, rows, [&](int row) {
      A const dot_with_row = is_fourier ? sums.results[row]
                             : is_exp   ? grads.sums[row_offset + row]
                                        : A(0);
      A const scale = is_fourier ? fourier_scale(block, features.norms[row_offset + row],
                                                 static_cast<A>(config.eps))
                                 : static_cast<A>(config.x_scale);
      for_each_column(block, config.channels, [&](index_t c) {
        index_t const n = row * config.channels + c;
        A dx = z_gradient[n];
        if (is_fourier || is_exp) {
          dx = block.fused_multiply_add(math::negated(ops, dot_with_row), z[n], dx);
          dx = math::product(ops, dx, scale);
        }
        store(position, row, c, dx);
      });
    });
  }

  template <class Block>
  SLICESORT_HD void store_custom_gradient(Block& block, tile_position const& position,
                                          index_t row_offset, int rows, index_t length) const {
    for (int row = block.rank(); row < rows; row += linear_threads) {
      A const* const z = features.z + (row_offset + row) * config.channels;
      A const* const dphi = grads.phi + (row_offset + row) * config.count;
      A* const dx = grads.x + (row_offset + row) * config.channels;
      index_t first = position.first_row();
      bool const is_piece = StoresToWorkspace && first_rows != nullptr;
      if (is_piece) first += first_rows[position.sample];
      custom_feature_backward(custom_feature,
                              feature_row{first + row, is_piece ? 0 : length, config.channels}, z,
                              dphi, dx);
      for (index_t c = 0; c < config.channels; ++c) store(position, row, c, dx[c]);
    }
  }
};

// Adds the partial dw of the pairs in order. Stores dw after the last pair of the call. One element
// per thread.
template <class T>
struct w_gradient_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_pairs pairs;                  // of heads of k
  A const* partial;                    // [pair][row of w][channel]
  bool has_first_pair, has_last_pair;  // of the call
  A* sums;                             // sums of the earlier pairs, laid out as dw
  tensor3<T> dw;                       // with one head, summed over all heads
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
    A sum = has_first_pair ? A(0) : sums[n];
    for (index_t pair = 0; pair < pairs.count; ++pair)
      if (w_heads(e) == 1 || pairs.head(pair) == head)
        sum = block.fused_multiply_add(sum, A(1), partial[pair * size() + element]);
    if (has_last_pair)
      store_or_accumulate_sum(mode, dw(head, element / e.channels, element % e.channels), sum);
    else
      sums[n] = sum;
  }
};

SLICESORT_DETAIL_END
