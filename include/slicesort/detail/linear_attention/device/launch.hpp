// SPDX-License-Identifier: Apache-2.0
// Kernel launches of linear_attention that forward and backward share, for some (sample, head)
// pairs.
#pragma once

#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/layout.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/maxima.hpp>
#include <slicesort/detail/linear_attention/device/output.hpp>
#include <slicesort/detail/linear_attention/device/random_features.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/sums.hpp>
#include <slicesort/detail/linear_attention/device/tensor_product_tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// `Params` are the parameters of forward or backward. `Kind` selects exact or tensor core products.
template <class Grid, class Params, products Kind>
class linear_launches {
 public:
  using T = typename Params::element;
  using A = accumulator_t<T>;

  linear_launches(Grid const& grid, Params const& call_params,
                  linear_attention_shape const& call_shape,
                  linear_grid_layout<A> const& grid_layout, linear_pairs call_pairs)
      : pairs(call_pairs),
        queries{call_params.lengths.queries, call_shape.queries},
        keys{call_params.lengths.keys, call_shape.keys},
        rescales(call_params.causal && call_params.feature.has_maximum()),
        params(call_params),
        shape(call_shape),
        layout(grid_layout),
        grid_(grid) {}

  // Computes the features of queries and keys, and their maxima.
  void compute_features() const {
    if (params.feature.is_elementwise()) return;
    map(queries, keys, params.in.q, layout.queries);
    map(keys, queries, params.in.k, layout.keys);
    if (!params.feature.has_maximum()) return;
    run(key_maxima_kernel<A>{pairs, keys, params.causal, layout.keys.maxima});
    if (rescales) run(factors_kernel<A>{pairs, keys, layout.keys.maxima, layout.factors});
    run(exp_features_kernel<A>{{pairs, queries}, params.feature, layout.queries});
    run(exp_features_kernel<A>{{pairs, keys}, params.feature, layout.keys});
  }

  // Computes S and Z.
  void sum_keys() const {
    sum_tiles(keys, features_of_keys(), to_end(), tensor_operand(params.in.v), nullptr, false);
  }

  auto output_kernel(tensor4<T> y) const {
    auto kernel = step_kernel<output_step::outputs>(queries, keys);
    kernel.lhs = features_of_queries();
    kernel.rhs = features_of_keys();
    kernel.times = tensor_operand(params.in.v);
    kernel.factors = from_tile_start();
    kernel.results = y;
    return kernel;
  }

  template <class Kernel>
  void run(Kernel const& kernel) const {
    if (kernel.blocks() > 0) grid_.run(kernel, kernel.blocks(), Kernel::max_threads);
  }

 protected:
  linear_pairs const pairs;
  linear_side const queries, keys;
  bool const rescales;  // true if sums are rescaled by the running maximum of keys
  Params const& params;
  linear_attention_shape const& shape;
  linear_grid_layout<A> const& layout;

  A const* from_tile_start() const { return rescales ? layout.factors.from_tile_start : nullptr; }
  A const* to_end() const { return rescales ? layout.factors.to_end : nullptr; }

  static linear_operand<T> tensor_operand(tensor4<T const> tensor) {
    return {tensor, nullptr, 0, 0, {}};
  }
  feature_operand<T> features_of_queries() const {
    return features(params.in.q, layout.queries, queries);
  }
  feature_operand<T> features_of_keys() const { return features(params.in.k, layout.keys, keys); }

  // Sums the rows of each tile. Causal calls compute prefix sums over the tiles (suffix sums from
  // the last tile); others compute the total.
  void sum_tiles(linear_side const& side, feature_operand<T> const& phi, A const* factors,
                 linear_operand<T> const& rhs, A const* weights, bool from_last) const {
    sum_each_tile(side, phi, factors, rhs, true, weights, layout.sums);
    scan_kernel<A> scan{};
    scan.sums = layout.sums;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.from_last = params.causal && from_last;
    scan.decay = rescales ? layout.factors.of_tile : nullptr;
    scan.total = params.causal ? nullptr : layout.sums.data;
    scan.total_pitch = layout.sums.tiles * layout.sums.size;
    scan.begins = true;
    run(scan);
  }
  void sum_each_tile(linear_side const& side, feature_operand<T> const& lhs, A const* factors,
                     linear_operand<T> const& rhs, bool sums_rows, A const* weights,
                     tile_sums<A> const& sums) const {
    tile_sums_kernel<T, Kind> kernel{};
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.lhs = lhs;
    kernel.factors = factors;
    kernel.rhs = rhs;
    kernel.sums_rows = sums_rows;
    kernel.weights = weights;
    kernel.sums = sums;
    run(kernel);
  }

  // Kernel of a step without its operands, which differ from step to step.
  template <output_step Step>
  linear_output_kernel<T, Step, Kind> step_kernel(linear_side const& side,
                                                  linear_side const& other) const {
    using Kernel = linear_output_kernel<T, Step, Kind>;
    Kernel kernel{};
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.causal = params.causal;
    kernel.other = other;
    kernel.depth = Kernel::of_features ? params.feature.count : shape.values;
    kernel.width = Kernel::of_features ? shape.values : params.feature.count;
    kernel.sums = layout.sums;
    kernel.maxima = rescales ? layout.keys.maxima : nullptr;
    kernel.divisor = params.divisor;
    return kernel;
  }

 private:
  using Feature = decltype(Params::custom_feature);

  feature_operand<T> features(tensor4<T const> x, linear_features<A> const& buffers,
                              linear_side const& side) const {
    if (params.feature.is_elementwise())
      return {x, nullptr, 0, 0, {params.feature.kind, static_cast<A>(params.feature.eps)}};
    return {{}, buffers.phi, side.rows, params.feature.count, {}};
  }

  void map(linear_side const& side, linear_side const& other, tensor4<T const> x,
           linear_features<A> const& out) const {
    feature_rows_kernel<Feature, T> kernel{{pairs, side}, {}, params.custom_feature};
    kernel.config = params.feature;
    kernel.other = other;
    kernel.x = tensor_operand(x);
    kernel.features = out;
    run(kernel);
    if (!is_random(params.feature.kind)) return;
    run(random_features_kernel<T, Kind>{{pairs, side}, params.feature, params.in.w, out});
    if (params.feature.has_maximum())
      run(row_maxima_kernel<A>{{pairs, side}, params.feature.count, out.phi, out.maxima});
  }

  Grid const& grid_;
};

SLICESORT_DETAIL_END
