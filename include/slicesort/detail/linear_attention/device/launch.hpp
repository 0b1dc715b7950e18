// SPDX-License-Identifier: Apache-2.0
// Kernel launches that forward and backward of linear_attention share, for the (sample, head) pairs
// that the workspace holds. params.hpp defines S and Z.
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

// `Params` are the parameters of forward or backward. `Products` selects exact or tensor core
// products.
template <class Grid, class Params, products Products>
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
        rescales_sums(call_params.causal && call_params.feature.has_maximum()),
        params(call_params),
        shape(call_shape),
        layout(grid_layout),
        grid_(grid) {}

  // Computes the features of queries and keys, and their maxima.
  void compute_features() const {
    if (params.feature.is_elementwise()) return;
    map_rows(queries, keys, params.in.q, layout.queries);
    map_rows(keys, queries, params.in.k, layout.keys);
    if (!params.feature.has_maximum()) return;
    run(key_maxima_kernel<A>{pairs, keys, params.causal, layout.keys.maxima});
    if (rescales_sums) run(factors_kernel<A>{pairs, keys, layout.keys.maxima, layout.factors});
    run(exp_features_kernel<A>{{pairs, queries}, params.feature, layout.queries});
    run(exp_features_kernel<A>{{pairs, keys}, params.feature, layout.keys});
  }

  // Computes S and Z before each tile, or of all keys if not causal.
  void compute_key_sums() const {
    sum_and_scan_tiles(keys, features_of_keys(), to_tile_end(), tensor_operand(params.in.v),
                       nullptr, false);
  }

  auto make_output_kernel(tensor4<T> y) const {
    auto kernel = make_step_kernel<output_step::outputs>(queries, keys);
    kernel.lhs = features_of_queries();
    kernel.rhs = features_of_keys();
    kernel.partner_rows = tensor_operand(params.in.v);
    kernel.lhs_factors = from_tile_start();
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
  bool const rescales_sums;  // when the running maximum of the keys grows
  Params const& params;
  linear_attention_shape const& shape;
  linear_grid_layout<A> const& layout;

  A const* from_tile_start() const {
    return rescales_sums ? layout.factors.from_tile_start : nullptr;
  }
  A const* to_tile_end() const { return rescales_sums ? layout.factors.to_tile_end : nullptr; }

  static linear_operand<T> tensor_operand(tensor4<T const> tensor) {
    return {tensor, nullptr, 0, 0, {}};
  }
  feature_operand<T> features_of_queries() const {
    return make_feature_operand(params.in.q, layout.queries, queries);
  }
  feature_operand<T> features_of_keys() const {
    return make_feature_operand(params.in.k, layout.keys, keys);
  }

  // Computes phi^T rhs and the weighted column sums of phi: of the tiles before each tile if causal
  // (after it if `reverse`), else of all tiles.
  void sum_and_scan_tiles(linear_side const& side, feature_operand<T> const& phi,
                          A const* lhs_factors, linear_operand<T> const& rhs, A const* row_weights,
                          bool reverse) const {
    sum_each_tile(side, phi, lhs_factors, rhs, true, row_weights, layout.sums);
    scan_kernel<A> scan{};
    scan.sums = layout.sums;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.reverse = params.causal && reverse;
    scan.tile_factors = rescales_sums ? layout.factors.per_tile : nullptr;
    scan.total = params.causal ? nullptr : layout.sums.data;
    scan.total_pitch = layout.sums.tiles * layout.sums.size;
    scan.overwrites_total = true;
    run(scan);
  }
  // Computes the sums of each tile alone.
  void sum_each_tile(linear_side const& side, feature_operand<T> const& lhs, A const* lhs_factors,
                     linear_operand<T> const& rhs, bool needs_column_sums, A const* row_weights,
                     tile_sums<A> const& sums) const {
    tile_sums_kernel<T, Products> kernel{};
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.lhs = lhs;
    kernel.lhs_factors = lhs_factors;
    kernel.rhs = rhs;
    kernel.needs_column_sums = needs_column_sums;
    kernel.row_weights = row_weights;
    kernel.sums = sums;
    run(kernel);
  }

  // Returns a kernel without its operands, which differ from step to step.
  template <output_step Step>
  linear_output_kernel<T, Step, Products> make_step_kernel(linear_side const& side,
                                                           linear_side const& partner_side) const {
    using Kernel = linear_output_kernel<T, Step, Products>;
    Kernel kernel{};
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.causal = params.causal;
    kernel.partner_side = partner_side;
    kernel.inner_width = Kernel::operands_are_features ? params.feature.count : shape.values;
    kernel.width = Kernel::operands_are_features ? shape.values : params.feature.count;
    kernel.sums = layout.sums;
    kernel.maxima = rescales_sums ? layout.keys.maxima : nullptr;
    kernel.divisor = params.divisor;
    return kernel;
  }

 private:
  using Feature = decltype(Params::custom_feature);

  feature_operand<T> make_feature_operand(tensor4<T const> x, linear_features<A> const& buffers,
                                          linear_side const& side) const {
    if (params.feature.is_elementwise())
      return {x, nullptr, 0, 0, {params.feature.kind, static_cast<A>(params.feature.eps)}};
    return {{}, buffers.phi, side.rows, params.feature.count, {}};
  }

  void map_rows(linear_side const& side, linear_side const& other_side, tensor4<T const> x,
                linear_features<A> const& out) const {
    feature_rows_kernel<Feature, T> kernel{{pairs, side}, {}, params.custom_feature};
    kernel.config = params.feature;
    kernel.other_side = other_side;
    kernel.x = tensor_operand(x);
    kernel.features = out;
    run(kernel);
    if (!is_random(params.feature.kind)) return;
    run(random_features_kernel<T, Products>{{pairs, side}, params.feature, params.in.w, out});
    if (params.feature.has_maximum())
      run(row_maxima_kernel<A>{{pairs, side}, params.feature.count, out.phi, out.maxima});
  }

  Grid const& grid_;
};

SLICESORT_DETAIL_END
