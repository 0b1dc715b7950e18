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
#include <slicesort/detail/linear_attention/device/output.hpp>
#include <slicesort/detail/linear_attention/device/random_features.hpp>
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
class linear_launches {
 public:
  using T = typename Params::element;
  using A = accumulator_t<T>;

  linear_launches(Grid const& grid, Params const& call_params,
                  linear_attention_shape const& call_shape,
                  linear_grid_layout<A> const& grid_layout, linear_pairs call_pairs)
      : pairs(call_pairs),
        queries{lengths_of(call_params.lengths.queries, call_shape, grid_layout),
                call_shape.queries},
        keys{lengths_of(call_params.lengths.keys, call_shape, grid_layout), call_shape.keys},
        rescales_sums(call_params.causal && call_params.feature.has_maximum()),
        params(call_params),
        shape(call_shape),
        layout(grid_layout),
        grid_(grid) {}

  // Computes the features of queries and keys, and their maxima.
  void compute_features() const {
    if (uses_states()) gather_inputs();
    if (!maps_while_loading()) {
      map_rows(queries, keys, query_rows(), layout.queries);
      map_rows(keys, queries, key_rows(), layout.keys);
      if (params.feature.has_maximum()) compute_exponentials();
    }
    if (uses_states()) replace_state_features();
  }

  // Computes S and Z before each tile, or of all keys if not causal.
  void compute_key_sums() const {
    sum_each_tile(keys, features_of_keys(), to_tile_end(), value_rows(), true, nullptr,
                  layout.sums);
    if (uses_states())
      run(load_sums_kernel<A>{pairs, state_layout(), params.states.initial,
                              layout.carried.initial_sums});
    scan_tiles(keys, false, layout.carried.initial_sums, nullptr);
  }

  auto make_output_kernel(tensor4<T> y) const {
    auto kernel = make_step_kernel<output_step::outputs>(queries, keys);
    kernel.lhs = features_of_queries();
    kernel.rhs = features_of_keys();
    kernel.partner_rows = value_rows();
    kernel.lhs_factors = from_tile_start();
    kernel.results = y;
    kernel.feature_grads = layout.carried.results;
    return kernel;
  }
  // Stores the outputs of a call with states.
  void store_outputs(tensor4<T> y) const {
    scatter_results(queries, shape.values, y, grad_mode::overwrite);
  }

  bool uses_states() const { return layout.carried.is_used(); }
  // True if kernels compute the rows of a result in the workspace, for scatter_results.
  bool stores_to_workspace(tensor4<T> to) const {
    return to.data() != nullptr && (uses_states() || pairs.group_of(to.extents().heads) != 1);
  }
  // Stores the rows that were computed in the workspace.
  void scatter_results(linear_side const& side, index_t channels, tensor4<T> to,
                       grad_mode mode) const {
    if (!stores_to_workspace(to)) return;
    index_t const group = pairs.group_of(to.extents().heads);
    scatter_rows_kernel<T> kernel{};
    kernel.pairs = {pairs.first / group, pairs.count / group, pairs.heads / group};
    kernel.group = group;
    kernel.side = side;
    kernel.offsets = layout.carried.offsets;
    kernel.rows = layout.carried.results;
    kernel.channels = channels;
    kernel.to = to;
    kernel.mode = mode;
    run(kernel);
  }
  // Requires S and Z.
  void store_state(tensor4<A> last) const {
    if (last.data() == nullptr) return;
    auto const& carried = layout.carried;
    store_state_kernel<A> kernel{};
    kernel.pairs = pairs;
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

  // Rows of an input, from its tensor or from the workspace of a call with states.
  linear_operand<T> rows_of(tensor4<T const> tensor, A const* carried) const {
    if (carried != nullptr) return {{}, carried, keys.rows, tensor.extents().channels, {}};
    linear_operand<T> operand{tensor};
    operand.group = pairs.group_of(tensor.extents().heads);
    return operand;
  }
  linear_operand<T> query_rows() const { return rows_of(params.in.q, layout.carried.q); }
  linear_operand<T> key_rows() const { return rows_of(params.in.k, layout.carried.k); }
  linear_operand<T> value_rows() const { return rows_of(params.in.v, layout.carried.v); }
  void gather_rows(tensor4<T const> from, tensor4<A const> state, A* rows) const {
    gather_rows_kernel<T> kernel{};
    kernel.pairs = pairs;
    kernel.side = keys;
    kernel.offsets = layout.carried.offsets;
    kernel.from = from;
    kernel.layout = state_layout();
    kernel.initial = state;
    kernel.rows = rows;
    run(kernel);
  }
  linear_state_layout state_layout() const { return {params.feature.count, shape.values}; }
  feature_operand<T> features_of_queries() const {
    return make_feature_operand(params.in.q, layout.queries, queries);
  }
  feature_operand<T> features_of_keys() const {
    return make_feature_operand(params.in.k, layout.keys, keys);
  }

  // Replaces the sums of each tile by those of the tiles before it if causal (after it if
  // `reverse`), else by those of all tiles. `start` and `end` are as in scan_kernel.
  void scan_tiles(linear_side const& side, bool reverse, A const* start, A* end) const {
    scan_kernel<A> scan{};
    scan.sums = layout.sums;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.reverse = params.causal && reverse;
    scan.tile_factors = rescales_sums ? layout.factors.per_tile : nullptr;
    scan.total = params.causal ? nullptr : layout.sums.data;
    scan.total_pitch = layout.sums.tiles * layout.sums.size;
    scan.overwrites_total = true;
    scan.start = start;
    scan.end = end;
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

  // Lengths of the rows that kernels process.
  static tensor1<index_t const> lengths_of(tensor1<index_t const> lengths,
                                           linear_attention_shape const& s,
                                           linear_grid_layout<A> const& layout) {
    return layout.carried.is_used() ? tensor1<index_t const>(layout.carried.lengths, s.batch)
                                    : lengths;
  }
  bool maps_while_loading() const { return params.feature.is_elementwise() && !uses_states(); }

  // Copies the rows of a call with states behind those of its initial state.
  void gather_inputs() const {
    gather_rows(params.in.q, {}, layout.carried.q);
    gather_rows(params.in.k, {}, layout.carried.k);
    gather_rows(params.in.v, params.states.initial, layout.carried.v);
  }
  // Replaces the features of the rows before a call by those of its initial state.
  void replace_state_features() const {
    state_features_kernel<A> kernel{};
    kernel.pairs = pairs;
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
      kernel.pairs = pairs;
      kernel.offsets = carried.offsets;
      kernel.first_rows = carried.first_rows;
      kernel.layout = state_layout();
      kernel.initial = params.states.initial;
      kernel.rows = keys.rows;
      kernel.maxima = layout.keys.maxima;
      kernel.initial_maxima = carried.initial_maxima;
      run(kernel);
    }
    run(key_maxima_kernel<A>{pairs, keys, params.causal, layout.keys.maxima});
    if (rescales_sums)
      run(factors_kernel<A>{pairs, keys, layout.keys.maxima, layout.factors,
                            carried.initial_maxima});
    run(exp_features_kernel<A>{{pairs, queries}, params.feature, layout.queries});
    run(exp_features_kernel<A>{{pairs, keys}, params.feature, layout.keys});
  }

  feature_operand<T> make_feature_operand(tensor4<T const> x, linear_features<A> const& buffers,
                                          linear_side const& side) const {
    if (maps_while_loading()) {
      feature_operand<T> operand{x};
      operand.map = {params.feature.kind, static_cast<A>(params.feature.eps)};
      operand.group = pairs.group_of(x.extents().heads);
      return operand;
    }
    return {{}, buffers.phi, side.rows, params.feature.count, {}};
  }

  void map_rows(linear_side const& side, linear_side const& other_side, linear_operand<T> const& x,
                linear_features<A> const& out) const {
    feature_rows_kernel<Feature, T> kernel{{pairs, side}, {}, params.custom_feature};
    kernel.config = params.feature;
    kernel.other_side = other_side;
    kernel.first_rows = layout.carried.first_rows;
    kernel.x = x;
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
