// SPDX-License-Identifier: Apache-2.0
// The launches of linear_attention's backward, behind those that it shares with forward.
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
  using base::m;
  using base::moving;
  using base::p;
  using base::pairs;
  using base::shape;

 public:
  using T = typename base::T;
  using A = typename base::A;
  using base::base;
  using base::keys;
  using base::queries;

  // U and u, from g and c.
  void sum_queries() const {
    base::sum_tiles(queries, base::features_of_queries(), base::since_tile(), g(), m.d, true);
  }

  // g, c, and the gradients of the features of queries.
  void query_gradients(tensor4<T const> dy) const {
    if (p.causal) {
      running_sums_kernel<T> z{};
      z.pairs = pairs;
      z.queries = queries;
      z.keys = keys;
      z.phi = base::features_of_keys();
      z.kept = moving ? m.factors.of_step : nullptr;
      z.before = m.sums;
      z.to = m.running;
      run(z);
    }
    divisors_kernel<T> d{};
    d.pairs = pairs;
    d.queries = queries;
    d.phi = base::features_of_queries();
    d.running = running();
    d.sums = m.sums;
    d.divisor = p.divisor;
    d.slopes = m.d;
    d.dy = base::of_tensor(dy);
    d.values = shape.values;
    d.g = m.g;
    run(d);
    auto kernel = base::template kernel_of_step<attend_step::query_gradients>(queries, keys);
    kernel.left = g();
    kernel.right = base::of_tensor(p.in.v);
    kernel.times = base::features_of_keys();
    kernel.factors = base::since_tile();
    kernel.gradients = m.query_gradients.phi;
    run(kernel);
    sum_gradients_kernel<T> c{};
    c.pairs = pairs;
    c.queries = queries;
    c.phi = base::features_of_queries();
    c.running = running();
    c.sums = m.sums;
    c.c = m.d;
    c.dphi = m.query_gradients.phi;
    run(c);
  }
  // Of keys.
  void key_gradients() const {
    auto kernel = base::template kernel_of_step<attend_step::key_gradients>(keys, queries);
    kernel.left = base::of_tensor(p.in.v);
    kernel.right = g();
    kernel.times = base::features_of_queries();
    kernel.factors = base::to_end();
    kernel.c = m.d;
    kernel.gradients = m.key_gradients.phi;
    run(kernel);
  }
  void value_gradients(tensor4<T> dv, grad_mode mode) const {
    auto kernel = base::template kernel_of_step<attend_step::value_gradients>(keys, queries);
    kernel.left = base::features_of_keys();
    kernel.right = base::features_of_queries();
    kernel.times = g();
    kernel.factors = base::to_end();
    kernel.results = dv;
    kernel.mode = mode;
    run(kernel);
  }

  void pull_queries(tensor4<T> dq, grad_mode mode) const {
    pull(queries, keys, p.in.q, m.queries, m.query_gradients, dq, mode);
  }
  void pull_keys(tensor4<T> dk, grad_mode mode) const {
    pull(keys, queries, p.in.k, m.keys, m.key_gradients, dk, mode);
  }
  // The pairs' parts of dw, behind both of these.
  void sum_w_gradients() const {
    sum_w_gradients(queries, m.queries, m.query_gradients, false, true);
    sum_w_gradients(keys, m.keys, m.key_gradients, p.causal, false);
  }

 private:
  using base::run;
  using Feature = decltype(Params::own);

  A const* running() const { return p.causal ? m.running : nullptr; }
  linear_operand<T> g() const { return {{}, m.g, shape.queries, shape.values, {}}; }

  void pull(linear_side const& side, linear_side const& other, tensor4<T const> x,
            linear_features<A> const& of, linear_gradients<A> const& gradients, tensor4<T> to,
            grad_mode mode) const {
    if (is_random(p.feature.kind)) {
      run(product_gradients_kernel<A>{p.feature, pairs, side, of, gradients});
      if (to.data() != nullptr)
        run(times_w_kernel<T, Kind>{p.feature, pairs, side, p.in.w, gradients});
    }
    if (to.data() == nullptr) return;
    pull_rows_kernel<Feature, T> kernel{p.own};
    kernel.config = p.feature;
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.other = other;
    kernel.x = base::of_tensor(x);
    kernel.of = of;
    kernel.gradients = gradients;
    kernel.to = to;
    kernel.mode = mode;
    run(kernel);
  }

  void sum_w_gradients(linear_side const& side, linear_features<A> const& of,
                       linear_gradients<A> const& gradients, bool from_last, bool begins) const {
    index_t const r = p.feature.rows_of_w, channels = shape.channels;
    tile_sums<A> const parts{m.sums.data, m.sums.slots, r * channels, r, channels};
    feature_operand<T> const h{{}, gradients.phi, side.rows, p.feature.count, {}};
    linear_operand<T> const z{{}, of.z, side.rows, channels, {}};
    base::sum_each_tile(side, h, nullptr, z, false, nullptr, parts);
    scan_kernel<A> scan{};
    scan.sums = parts;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.from_last = from_last;
    scan.total = m.w_parts;
    scan.total_pitch = r * channels;
    scan.begins = begins;
    run(scan);
  }
};

SLICESORT_DETAIL_END
