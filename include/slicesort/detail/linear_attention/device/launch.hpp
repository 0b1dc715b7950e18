// SPDX-License-Identifier: Apache-2.0
// Kernel launches that forward and backward of linear_attention share, for the (sample, head) pairs
// that the workspace holds. params.hpp defines S and Z.
#pragma once

#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/linear_attention/device/carried_state.hpp>
#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/layout.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/maxima.hpp>
#include <slicesort/detail/linear_attention/device/operands.hpp>
#include <slicesort/detail/linear_attention/device/output.hpp>
#include <slicesort/detail/linear_attention/device/random_features.hpp>
#include <slicesort/detail/linear_attention/device/results.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/sums.hpp>
#include <slicesort/detail/linear_attention/device/tensor_product_tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// `Params` are the parameters of forward or backward. `Products` selects exact or tensor core
// products.
template <class Grid, class Params, products Products>
class linear_launches : public linear_operands<Params> {
  using base = linear_operands<Params>;

 public:
  using base::uses_states;
  using typename base::A;
  using typename base::T;

  linear_launches(Grid const& grid, Params const& call_params,
                  linear_attention_shape const& call_shape,
                  linear_grid_layout<A> const& grid_layout, linear_pairs call_pairs)
      : base(call_params, call_shape, grid_layout, call_pairs), grid_(grid) {}

  // Computes the features of queries and keys, and their maxima.
  void compute_features() const {
    if (uses_states()) gather_inputs();
    if (!maps_while_loading()) {
      map_rows(pairs, queries, keys, query_rows(), layout.queries);
      map_rows(kv_pairs, keys, queries, key_rows(kv_pairs), layout.keys);
      if (params.feature.has_maximum()) compute_exponentials();
    }
    if (uses_states()) replace_state_features();
  }

  // Computes S and Z before each tile, or of all keys if not causal.
  void compute_key_sums() const {
    sum_each_tile(kv_pairs, keys, features_of_keys(kv_pairs), to_tile_end(), value_rows(kv_pairs),
                  true, nullptr, layout.sums);
    if (uses_states())
      run(load_sums_kernel<A>{kv_pairs, state_layout(), params.states.initial,
                              layout.carried.initial_sums});
    scan_tiles(keys, 1, false, layout.carried.initial_sums, nullptr);
  }

  auto make_output_kernel(tensor4<T> y) const {
    auto kernel = make_step_kernel<output_step::outputs>(pairs, queries, keys, layout.sums);
    kernel.lhs = features_of_queries();
    kernel.rhs = features_of_keys(pairs);
    kernel.partner_rows = value_rows(pairs);
    kernel.lhs_factors = from_tile_start();
    kernel.results = y;
    kernel.feature_grads = layout.carried.results;
    return kernel;
  }
  // Stores the outputs of a call with states.
  void store_outputs(tensor4<T> y) const {
    if (uses_states()) scatter_results(pairs, queries, shape.values, y, grad_mode::overwrite);
  }

  // Stores the rows of layout.carried.results.
  void scatter_results(linear_pairs const& rows_pairs, linear_side const& side, index_t channels,
                       tensor4<T> out, grad_mode mode) const {
    if (out.data() == nullptr) return;
    scatter_rows_kernel<T> kernel{};
    kernel.pairs = rows_pairs;
    kernel.side = side;
    kernel.offsets = layout.carried.offsets;
    kernel.rows = layout.carried.results;
    kernel.channels = channels;
    kernel.out = out;
    kernel.mode = mode;
    run(kernel);
  }
  // Requires S and Z.
  void store_state(tensor4<A> last) const {
    if (last.data() == nullptr) return;
    auto const& carried = layout.carried;
    store_state_kernel<A> kernel{};
    kernel.pairs = kv_pairs;
    kernel.lengths = carried.lengths;
    kernel.first_rows = carried.first_rows;
    kernel.layout = state_layout();
    kernel.rows = keys.rows;
    kernel.phi = layout.keys.phi;
    kernel.v = carried.v;
    kernel.maxima = layout.keys.maxima;
    kernel.initial_maxima = carried.initial_maxima;
    kernel.sums = layout.sums;
    kernel.last = last;
    run(kernel);
  }

  template <class Kernel>
  void run(Kernel const& kernel) const {
    if (kernel.blocks() > 0) grid_.run(kernel, kernel.blocks(), Kernel::max_threads);
  }

 protected:
  using base::features_of_keys, base::features_of_queries, base::key_rows, base::query_rows,
      base::value_rows;
  using base::from_tile_start, base::maps_while_loading, base::state_layout, base::to_tile_end;
  using base::pairs, base::kv_pairs, base::queries, base::keys, base::rescales_sums;
  using base::params, base::shape, base::layout;

  void gather_rows(linear_pairs const& rows_pairs, tensor4<T const> source, tensor4<A const> state,
                   A* rows) const {
    gather_rows_kernel<T> kernel{};
    kernel.pairs = rows_pairs;
    kernel.side = keys;
    kernel.offsets = layout.carried.offsets;
    kernel.source = source;
    kernel.layout = state_layout();
    kernel.initial = state;
    kernel.rows = rows;
    run(kernel);
  }
  // Replaces the sums of each tile by those of the tiles before it if causal (after it if
  // `reverse`), else by those of all tiles. Sums groups of `group` pairs, and stores the results to
  // layout.sums.of_groups(group). `start` and `end` are as in scan_kernel.
  void scan_tiles(linear_side const& side, index_t group, bool reverse, A const* start,
                  A* end) const {
    scan_kernel<A> scan{};
    scan.sums = layout.sums;
    scan.groups = kv_pairs.count;
    scan.group = group;
    scan.tiles = side.tiles();
    scan.reverse = params.causal && reverse;
    scan.tile_factors = rescales_sums ? layout.factors.per_tile : nullptr;
    scan.total = params.causal ? nullptr : layout.sums.data;
    scan.total_pitch = group * layout.sums.tiles * layout.sums.size;
    scan.overwrites_total = true;
    scan.start = start;
    scan.end = end;
    run(scan);
  }
  // Computes the sums of each tile alone.
  void sum_each_tile(linear_pairs const& side_pairs, linear_side const& side,
                     feature_operand<T> const& lhs, A const* lhs_factors,
                     linear_operand<T> const& rhs, bool needs_column_sums, A const* row_weights,
                     tile_sums<A> const& sums) const {
    tile_sums_kernel<T, Products> kernel{};
    kernel.pairs = side_pairs;
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
  linear_output_kernel<T, Step, Products> make_step_kernel(linear_pairs const& kernel_pairs,
                                                           linear_side const& side,
                                                           linear_side const& partner_side,
                                                           tile_sums<A> const& sums) const {
    using Kernel = linear_output_kernel<T, Step, Products>;
    Kernel kernel{};
    kernel.pairs = kernel_pairs;
    kernel.side = side;
    kernel.causal = params.causal;
    kernel.partner_side = partner_side;
    kernel.inner_width = Kernel::operands_are_features ? params.feature.count : shape.values;
    kernel.width = Kernel::operands_are_features ? shape.values : params.feature.count;
    kernel.sums = sums;
    kernel.maxima = rescales_sums ? layout.keys.maxima : nullptr;
    kernel.divisor = params.divisor;
    return kernel;
  }

 private:
  using Feature = decltype(Params::custom_feature);

  // Copies the rows of a call with states behind those of its initial state.
  void gather_inputs() const {
    gather_rows(pairs, params.in.q, {}, layout.carried.q);
    gather_rows(kv_pairs, params.in.k, {}, layout.carried.k);
    gather_rows(kv_pairs, params.in.v, params.states.initial, layout.carried.v);
  }
  // Replaces the features of the rows before a call by those of its initial state.
  void replace_state_features() const {
    state_features_kernel<A> kernel{};
    kernel.pairs = kv_pairs;
    kernel.group = pairs.group;
    kernel.offsets = layout.carried.offsets;
    kernel.layout = state_layout();
    kernel.initial = params.states.initial;
    kernel.rows = keys.rows;
    kernel.query_phi = layout.queries.phi;
    kernel.key_phi = layout.keys.phi;
    run(kernel);
  }
  // Computes the running maxima and the features of random_exp.
  void compute_exponentials() const {
    auto const& carried = layout.carried;
    if (uses_states()) {
      state_maxima_kernel<A> kernel{};
      kernel.pairs = kv_pairs;
      kernel.offsets = carried.offsets;
      kernel.first_rows = carried.first_rows;
      kernel.layout = state_layout();
      kernel.initial = params.states.initial;
      kernel.rows = keys.rows;
      kernel.maxima = layout.keys.maxima;
      kernel.initial_maxima = carried.initial_maxima;
      run(kernel);
    }
    run(key_maxima_kernel<A>{kv_pairs, keys, params.causal, layout.keys.maxima});
    if (rescales_sums)
      run(factors_kernel<A>{kv_pairs, keys, layout.keys.maxima, layout.factors,
                            carried.initial_maxima});
    run(exp_features_kernel<A>{{pairs, queries}, params.feature, layout.queries});
    run(exp_features_kernel<A>{{kv_pairs, keys}, params.feature, layout.keys});
  }

  void map_rows(linear_pairs const& side_pairs, linear_side const& side,
                linear_side const& other_side, linear_operand<T> const& x,
                linear_features<A> const& out) const {
    feature_rows_kernel<Feature, T> kernel{{side_pairs, side}, {}, params.custom_feature};
    kernel.config = params.feature;
    kernel.other_side = other_side;
    kernel.first_rows = layout.carried.first_rows;
    kernel.x = x;
    kernel.features = out;
    run(kernel);
    if (!is_random(params.feature.kind)) return;
    run(random_features_kernel<T, Products>{{side_pairs, side}, params.feature, params.in.w, out});
    if (params.feature.has_maximum())
      run(row_maxima_kernel<A>{{side_pairs, side}, params.feature.count, out.phi, out.maxima});
  }

  Grid const& grid_;
};

SLICESORT_DETAIL_END
