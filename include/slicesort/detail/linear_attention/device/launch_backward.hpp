// SPDX-License-Identifier: Apache-2.0
// Kernel launches of linear_attention that only backward needs.
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

template <class Grid, class Params, products Kind>
class linear_backward_launches : public linear_launches<Grid, Params, Kind> {
  using base = linear_launches<Grid, Params, Kind>;
  using base::layout;
  using base::pairs;
  using base::params;
  using base::rescales;
  using base::shape;

 public:
  using T = typename base::T;
  using A = typename base::A;
  using base::base;
  using base::keys;
  using base::queries;

  // Computes U and u from g and sum_gradients.
  void sum_queries() const {
    base::sum_tiles(queries, base::features_of_queries(), base::from_tile_start(), g(), layout.d,
                    true);
  }

  // Computes g, c, and the gradients of the query features.
  void query_gradients(tensor4<T const> dy) const {
    if (params.causal) {
      running_sums_kernel<T> running_sums{};
      running_sums.pairs = pairs;
      running_sums.side = queries;
      running_sums.keys = keys;
      running_sums.phi = base::features_of_keys();
      running_sums.decay = rescales ? layout.factors.of_step : nullptr;
      running_sums.before = layout.sums;
      running_sums.running = layout.running;
      run(running_sums);
    }
    divisors_kernel<T> divisors{};
    divisors.pairs = pairs;
    divisors.side = queries;
    divisors.phi = base::features_of_queries();
    divisors.running = running();
    divisors.sums = layout.sums;
    divisors.divisor = params.divisor;
    divisors.slopes = layout.d;
    divisors.dy = base::tensor_operand(dy);
    divisors.values = shape.values;
    divisors.g = layout.g;
    run(divisors);
    auto kernel = base::template step_kernel<output_step::query_gradients>(queries, keys);
    kernel.lhs = g();
    kernel.rhs = base::tensor_operand(params.in.v);
    kernel.times = base::features_of_keys();
    kernel.factors = base::from_tile_start();
    kernel.gradients = layout.query_gradients.phi;
    run(kernel);
    sum_gradients_kernel<T> sum_gradients{};
    sum_gradients.pairs = pairs;
    sum_gradients.side = queries;
    sum_gradients.phi = base::features_of_queries();
    sum_gradients.running = running();
    sum_gradients.sums = layout.sums;
    sum_gradients.c = layout.d;
    sum_gradients.dphi = layout.query_gradients.phi;
    run(sum_gradients);
  }
  void key_gradients() const {
    auto kernel = base::template step_kernel<output_step::key_gradients>(keys, queries);
    kernel.lhs = base::tensor_operand(params.in.v);
    kernel.rhs = g();
    kernel.times = base::features_of_queries();
    kernel.factors = base::to_end();
    kernel.c = layout.d;
    kernel.gradients = layout.key_gradients.phi;
    run(kernel);
  }
  void value_gradients(tensor4<T> dv, grad_mode mode) const {
    auto kernel = base::template step_kernel<output_step::value_gradients>(keys, queries);
    kernel.lhs = base::features_of_keys();
    kernel.rhs = base::features_of_queries();
    kernel.times = g();
    kernel.factors = base::to_end();
    kernel.results = dv;
    kernel.mode = mode;
    run(kernel);
  }

  void query_row_gradients(tensor4<T> dq, grad_mode mode) const {
    row_gradients(queries, keys, params.in.q, layout.queries, layout.query_gradients, dq, mode);
  }
  void key_row_gradients(tensor4<T> dk, grad_mode mode) const {
    row_gradients(keys, queries, params.in.k, layout.keys, layout.key_gradients, dk, mode);
  }
  // Computes the partial dw of pairs. Requires the gradients of both features.
  void sum_w_gradients() const {
    sum_w_gradients(queries, layout.queries, layout.query_gradients, false, true);
    sum_w_gradients(keys, layout.keys, layout.key_gradients, params.causal, false);
  }

 private:
  using base::run;
  using Feature = decltype(Params::custom_feature);

  A const* running() const { return params.causal ? layout.running : nullptr; }
  linear_operand<T> g() const { return {{}, layout.g, shape.queries, shape.values, {}}; }

  void row_gradients(linear_side const& side, linear_side const& other, tensor4<T const> x,
                     linear_features<A> const& features, linear_gradients<A> const& gradients,
                     tensor4<T> out, grad_mode mode) const {
    if (is_random(params.feature.kind)) {
      run(product_gradients_kernel<A>{{pairs, side}, {}, params.feature, features, gradients});
      if (out.data() != nullptr)
        run(times_w_kernel<T, Kind>{{pairs, side}, params.feature, params.in.w, gradients});
    }
    if (out.data() == nullptr) return;
    row_gradients_kernel<Feature, T> kernel{{}, params.custom_feature};
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.config = params.feature;
    kernel.other = other;
    kernel.x = base::tensor_operand(x);
    kernel.features = features;
    kernel.grads = gradients;
    kernel.out = out;
    kernel.mode = mode;
    run(kernel);
  }

  void sum_w_gradients(linear_side const& side, linear_features<A> const& features,
                       linear_gradients<A> const& gradients, bool from_last, bool begins) const {
    index_t const r = params.feature.w_rows, channels = shape.channels;
    tile_sums<A> const partial{layout.sums.data, layout.sums.tiles, r * channels, r, channels};
    feature_operand<T> const product_grads{{}, gradients.phi, side.rows, params.feature.count, {}};
    linear_operand<T> const z{{}, features.z, side.rows, channels, {}};
    base::sum_each_tile(side, product_grads, nullptr, z, false, nullptr, partial);
    scan_kernel<A> scan{};
    scan.sums = partial;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.from_last = from_last;
    scan.total = layout.partial_dw;
    scan.total_pitch = r * channels;
    scan.begins = begins;
    run(scan);
  }
};

SLICESORT_DETAIL_END
