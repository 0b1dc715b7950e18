// SPDX-License-Identifier: Apache-2.0
// Kernel launches of linear_attention's backward. params.hpp defines S, Z, U, u, g and c.
#pragma once

#include <slicesort/detail/linear_attention/device/backward.hpp>
#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/launch.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/output.hpp>
#include <slicesort/detail/linear_attention/device/query_rows.hpp>
#include <slicesort/detail/linear_attention/device/results.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/sums.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class Grid, class Params, products Products>
class linear_backward_launches : public linear_launches<Grid, Params, Products> {
  using base = linear_launches<Grid, Params, Products>;
  using base::kv_pairs;
  using base::layout;
  using base::pairs;
  using base::params;
  using base::rescales_sums;
  using base::shape;

 public:
  using T = typename base::T;
  using A = typename base::A;
  using base::base;
  using base::keys;
  using base::queries;

  // Computes U and u after each tile, or of all queries if not causal.
  void compute_query_sums() const {
    base::sum_each_tile(pairs, queries, base::features_of_queries(), base::from_tile_start(),
                        scaled_dy_operand(), true, layout.weight_sum_grads, layout.sums);
    if (params.states.dlast.data() != nullptr)
      run(add_last_sums_kernel<A>{kv_pairs, layout.carried.lengths, base::state_layout(),
                                  params.states.dlast, query_sums()});
    base::scan_tiles(queries, pairs.group, true, nullptr, layout.carried.first_sums);
  }

  // Computes g, c and the gradients of the query features. Requires S and Z.
  void compute_query_feature_grads(tensor4<T const> dy) const {
    if (params.causal) {
      running_sums_kernel<T> running_sums{};
      running_sums.pairs = kv_pairs;
      running_sums.side = queries;
      running_sums.keys = keys;
      running_sums.phi = base::features_of_keys(kv_pairs);
      running_sums.row_factors = rescales_sums ? layout.factors.per_row : nullptr;
      running_sums.sums = layout.sums;
      running_sums.running_z = layout.running_z;
      run(running_sums);
    }
    divisors_kernel<T> divisors{};
    divisors.pairs = pairs;
    divisors.side = queries;
    divisors.phi = base::features_of_queries();
    divisors.running_z = running_z();
    divisors.sums = layout.sums;
    divisors.divisor = params.divisor;
    divisors.weight_sum_grads = layout.weight_sum_grads;
    if (base::uses_states()) base::gather_rows(pairs, dy, {}, layout.carried.dy);
    divisors.dy = base::rows_of(dy, layout.carried.dy);
    divisors.values = shape.values;
    divisors.scaled_dy = layout.scaled_dy;
    run(divisors);
    auto kernel = base::template make_step_kernel<output_step::query_gradients>(pairs, queries,
                                                                                keys, layout.sums);
    kernel.lhs = scaled_dy_operand();
    kernel.rhs = base::value_rows(pairs);
    kernel.partner_rows = base::features_of_keys(pairs);
    kernel.lhs_factors = base::from_tile_start();
    kernel.feature_grads = layout.query_gradients.phi;
    run(kernel);
    sum_gradients_kernel<T> sum_gradients{};
    sum_gradients.pairs = pairs;
    sum_gradients.side = queries;
    sum_gradients.phi = base::features_of_queries();
    sum_gradients.running_z = running_z();
    sum_gradients.sums = layout.sums;
    sum_gradients.weight_sum_grads = layout.weight_sum_grads;
    sum_gradients.dphi = layout.query_gradients.phi;
    run(sum_gradients);
  }
  // Requires U and u, like compute_dv.
  void compute_key_feature_grads() const {
    linear_pairs const& addends = pairs_of_key_gradients();
    auto kernel = base::template make_step_kernel<output_step::key_gradients>(
        addends, keys, queries, query_sums());
    kernel.lhs = base::value_rows(addends);
    kernel.rhs = scaled_dy_operand();
    kernel.partner_rows = base::features_of_queries();
    kernel.lhs_factors = base::to_tile_end();
    kernel.weight_sum_grads = layout.weight_sum_grads;
    kernel.feature_grads = sums_groups() ? layout.group_addends : layout.key_gradients.phi;
    run(kernel);
    sum_groups(params.feature.count, layout.key_gradients.phi);
    add_state_key_gradients(true, layout.key_gradients.phi);
  }
  void compute_dv(tensor4<T> dv, grad_mode mode) const {
    linear_pairs const& addends = pairs_of_key_gradients();
    auto kernel = base::template make_step_kernel<output_step::value_gradients>(
        addends, keys, queries, query_sums());
    kernel.lhs = base::features_of_keys(addends);
    kernel.rhs = base::features_of_queries();
    kernel.partner_rows = scaled_dy_operand();
    kernel.lhs_factors = base::to_tile_end();
    bool const stores_to_workspace = base::uses_states() || sums_groups();
    if (!stores_to_workspace) kernel.results = dv;
    kernel.feature_grads = sums_groups() ? layout.group_addends : layout.carried.results;
    kernel.mode = mode;
    run(kernel);
    sum_groups(shape.values, layout.carried.results);
    add_state_key_gradients(false, layout.carried.results);
    if (stores_to_workspace) base::scatter_results(kv_pairs, keys, shape.values, dv, mode);
  }
  // Stores the gradient of the initial state. Requires those of the keys.
  void store_state_gradient() const {
    if (params.states.dinitial.data() == nullptr) return;
    auto const& carried = layout.carried;
    state_gradient_kernel<A> kernel{};
    kernel.pairs = kv_pairs;
    kernel.lengths = carried.lengths;
    kernel.offsets = carried.offsets;
    kernel.layout = base::state_layout();
    kernel.first_sums = carried.first_sums;
    kernel.dlast = params.states.dlast;
    kernel.dinitial = params.states.dinitial;
    run(kernel);
  }

  // Compute dq and dk from the gradients of the features.
  void compute_dq(tensor4<T> dq, grad_mode mode) const {
    compute_row_gradients(pairs, queries, keys, base::query_rows(), layout.queries,
                          layout.query_gradients, dq, mode);
  }
  void compute_dk(tensor4<T> dk, grad_mode mode) const {
    compute_row_gradients(kv_pairs, keys, queries, base::key_rows(kv_pairs), layout.keys,
                          layout.key_gradients, dk, mode);
  }
  // Computes the partial dw of each pair of k. Call last: overwrites the tile sums.
  void compute_partial_dw() const {
    add_partial_dw(pairs, queries, layout.queries, layout.query_gradients, false, true);
    add_partial_dw(kv_pairs, keys, layout.keys, layout.key_gradients, params.causal, false);
  }

 private:
  using base::run;
  using Feature = decltype(Params::custom_feature);

  // U and u of each head of k.
  tile_sums<A> query_sums() const { return layout.sums.of_groups(pairs.group); }
  // True if the gradients of keys and values are sums over the heads of a group, each with the
  // query-key pairs of a tile.
  bool sums_groups() const { return params.causal && pairs.group != 1; }
  linear_pairs const& pairs_of_key_gradients() const { return sums_groups() ? pairs : kv_pairs; }
  void sum_groups(index_t width, A* sums) const {
    if (sums_groups())
      run(group_sums_kernel<A>{{kv_pairs, keys}, pairs.group, width, layout.group_addends, sums});
  }

  A const* running_z() const { return params.causal ? layout.running_z : nullptr; }
  linear_operand<T> scaled_dy_operand() const {
    return {{}, layout.scaled_dy, shape.queries, shape.values, {}};
  }

  void compute_row_gradients(linear_pairs const& side_pairs, linear_side const& side,
                             linear_side const& other_side, linear_operand<T> const& x,
                             linear_features<A> const& features,
                             linear_gradients<A> const& gradients, tensor4<T> out,
                             grad_mode mode) const {
    if (is_random(params.feature.kind)) {
      run(product_gradients_kernel<A>{{side_pairs, side}, {}, params.feature, features, gradients});
      if (out.data() != nullptr)
        run(times_w_kernel<T, Products>{
            {side_pairs, side}, params.feature, params.in.w, gradients});
    }
    if (out.data() == nullptr) return;
    if (base::uses_states())
      store_row_gradients<true>(side_pairs, side, other_side, x, features, gradients, out, mode);
    else
      store_row_gradients<false>(side_pairs, side, other_side, x, features, gradients, out, mode);
  }
  template <bool StoresToWorkspace>
  void store_row_gradients(linear_pairs const& side_pairs, linear_side const& side,
                           linear_side const& other_side, linear_operand<T> const& x,
                           linear_features<A> const& features, linear_gradients<A> const& gradients,
                           tensor4<T> out, grad_mode mode) const {
    row_gradients_kernel<Feature, T, StoresToWorkspace> kernel{{}, params.custom_feature};
    kernel.pairs = side_pairs;
    kernel.side = side;
    kernel.config = params.feature;
    kernel.other_side = other_side;
    kernel.first_rows = layout.carried.first_rows;
    kernel.x = x;
    kernel.features = features;
    kernel.grads = gradients;
    kernel.out = out;
    kernel.mode = mode;
    kernel.rows_out = layout.carried.results;
    run(kernel);
    if constexpr (StoresToWorkspace)
      base::scatter_results(side_pairs, side, shape.channels, out, mode);
  }
  // Adds the gradients of the last state's keys, and stores those of the initial state's keys.
  void add_state_key_gradients(bool is_phi, A* grads) const {
    if (!base::uses_states()) return;
    auto const& states = params.states;
    if (states.dlast.data() == nullptr && states.dinitial.data() == nullptr) return;
    state_key_gradients_kernel<A> kernel{};
    kernel.pairs = kv_pairs;
    kernel.lengths = layout.carried.lengths;
    kernel.offsets = layout.carried.offsets;
    kernel.layout = base::state_layout();
    kernel.is_phi = is_phi;
    kernel.rows = keys.rows;
    kernel.dlast = states.dlast;
    kernel.dinitial = states.dinitial;
    kernel.grads = grads;
    run(kernel);
  }

  void add_partial_dw(linear_pairs const& side_pairs, linear_side const& side,
                      linear_features<A> const& features, linear_gradients<A> const& gradients,
                      bool reverse, bool overwrites_total) const {
    index_t const w_rows = params.feature.w_rows, channels = shape.channels;
    tile_sums<A> const partial{layout.sums.data, layout.sums.tiles, w_rows * channels, w_rows,
                               channels};
    feature_operand<T> const product_grads{{}, gradients.phi, side.rows, params.feature.count, {}};
    linear_operand<T> const z{{}, features.z, side.rows, channels, {}};
    base::sum_each_tile(side_pairs, side, product_grads, nullptr, z, false, nullptr, partial);
    scan_kernel<A> scan{};
    scan.sums = partial;
    scan.groups = kv_pairs.count;
    scan.group = side_pairs.group;
    scan.tiles = side.tiles();
    scan.reverse = reverse;
    scan.total = layout.partial_dw;
    scan.total_pitch = w_rows * channels;
    scan.overwrites_total = overwrites_total;
    run(scan);
  }
};

SLICESORT_DETAIL_END
