// SPDX-License-Identifier: Apache-2.0
// Kernel launches of linear_attention's backward. params.hpp defines S, Z, U, u, g and c.
#pragma once

#include <slicesort/detail/linear_attention/device/backward.hpp>
#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/launch.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/output.hpp>
#include <slicesort/detail/linear_attention/device/query_rows.hpp>
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
    base::sum_and_scan_tiles(queries, base::features_of_queries(), base::from_tile_start(),
                             scaled_dy_operand(), layout.weight_sum_grads, true);
  }

  // Computes g, c and the gradients of the query features. Requires S and Z.
  void compute_query_feature_grads(tensor4<T const> dy) const {
    if (params.causal) {
      running_sums_kernel<T> running_sums{};
      running_sums.pairs = pairs;
      running_sums.side = queries;
      running_sums.keys = keys;
      running_sums.phi = base::features_of_keys();
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
    divisors.dy = base::tensor_operand(dy);
    divisors.values = shape.values;
    divisors.scaled_dy = layout.scaled_dy;
    run(divisors);
    auto kernel = base::template make_step_kernel<output_step::query_gradients>(queries, keys);
    kernel.lhs = scaled_dy_operand();
    kernel.rhs = base::tensor_operand(params.in.v);
    kernel.partner_rows = base::features_of_keys();
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
    auto kernel = base::template make_step_kernel<output_step::key_gradients>(keys, queries);
    kernel.lhs = base::tensor_operand(params.in.v);
    kernel.rhs = scaled_dy_operand();
    kernel.partner_rows = base::features_of_queries();
    kernel.lhs_factors = base::to_tile_end();
    kernel.weight_sum_grads = layout.weight_sum_grads;
    kernel.feature_grads = layout.key_gradients.phi;
    run(kernel);
  }
  void compute_dv(tensor4<T> dv, grad_mode mode) const {
    auto kernel = base::template make_step_kernel<output_step::value_gradients>(keys, queries);
    kernel.lhs = base::features_of_keys();
    kernel.rhs = base::features_of_queries();
    kernel.partner_rows = scaled_dy_operand();
    kernel.lhs_factors = base::to_tile_end();
    kernel.results = dv;
    kernel.mode = mode;
    run(kernel);
  }

  // Compute dq and dk from the gradients of the features.
  void compute_dq(tensor4<T> dq, grad_mode mode) const {
    compute_row_gradients(queries, keys, params.in.q, layout.queries, layout.query_gradients, dq,
                          mode);
  }
  void compute_dk(tensor4<T> dk, grad_mode mode) const {
    compute_row_gradients(keys, queries, params.in.k, layout.keys, layout.key_gradients, dk, mode);
  }
  // Computes the partial dw of each pair. Call last: overwrites the tile sums.
  void compute_partial_dw() const {
    add_partial_dw(queries, layout.queries, layout.query_gradients, false, true);
    add_partial_dw(keys, layout.keys, layout.key_gradients, params.causal, false);
  }

 private:
  using base::run;
  using Feature = decltype(Params::custom_feature);

  A const* running_z() const { return params.causal ? layout.running_z : nullptr; }
  linear_operand<T> scaled_dy_operand() const {
    return {{}, layout.scaled_dy, shape.queries, shape.values, {}};
  }

  void compute_row_gradients(linear_side const& side, linear_side const& other_side,
                             tensor4<T const> x, linear_features<A> const& features,
                             linear_gradients<A> const& gradients, tensor4<T> out,
                             grad_mode mode) const {
    if (is_random(params.feature.kind)) {
      run(product_gradients_kernel<A>{{pairs, side}, {}, params.feature, features, gradients});
      if (out.data() != nullptr)
        run(times_w_kernel<T, Products>{{pairs, side}, params.feature, params.in.w, gradients});
    }
    if (out.data() == nullptr) return;
    row_gradients_kernel<Feature, T> kernel{{}, params.custom_feature};
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.config = params.feature;
    kernel.other_side = other_side;
    kernel.x = base::tensor_operand(x);
    kernel.features = features;
    kernel.grads = gradients;
    kernel.out = out;
    kernel.mode = mode;
    run(kernel);
  }

  void add_partial_dw(linear_side const& side, linear_features<A> const& features,
                      linear_gradients<A> const& gradients, bool reverse,
                      bool overwrites_total) const {
    index_t const w_rows = params.feature.w_rows, channels = shape.channels;
    tile_sums<A> const partial{layout.sums.data, layout.sums.tiles, w_rows * channels, w_rows,
                               channels};
    feature_operand<T> const product_grads{{}, gradients.phi, side.rows, params.feature.count, {}};
    linear_operand<T> const z{{}, features.z, side.rows, channels, {}};
    base::sum_each_tile(side, product_grads, nullptr, z, false, nullptr, partial);
    scan_kernel<A> scan{};
    scan.sums = partial;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.reverse = reverse;
    scan.total = layout.partial_dw;
    scan.total_pitch = w_rows * channels;
    scan.overwrites_total = overwrites_total;
    run(scan);
  }
};

SLICESORT_DETAIL_END
