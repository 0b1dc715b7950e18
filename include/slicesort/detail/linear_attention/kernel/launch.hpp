// SPDX-License-Identifier: Apache-2.0
// The launches of linear_attention for some pairs of a sample and a head: what forward and backward
// are made of.
#pragma once

#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/linear_attention/kernel/attend.hpp>
#include <slicesort/detail/linear_attention/kernel/features.hpp>
#include <slicesort/detail/linear_attention/kernel/layout.hpp>
#include <slicesort/detail/linear_attention/kernel/maxima.hpp>
#include <slicesort/detail/linear_attention/kernel/pull.hpp>
#include <slicesort/detail/linear_attention/kernel/query_rows.hpp>
#include <slicesort/detail/linear_attention/kernel/random_features.hpp>
#include <slicesort/detail/linear_attention/kernel/rows.hpp>
#include <slicesort/detail/linear_attention/kernel/sums.hpp>
#include <slicesort/detail/linear_attention/kernel/w_gradient.hpp>
#include <slicesort/detail/linear_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// `Problem`: of forward, or of backward.
template <class Grid, class Problem>
class linear_launches {
 public:
  using T = typename Problem::element;
  using A = detail::accumulator_t<T>;

  linear_launches(Grid const& grid, Problem const& p, detail::linear_attention_shape const& shape,
                  linear_grid_layout<A> const& layout, linear_pairs some)
      : pairs(some),
        queries{p.lengths.queries, shape.queries},
        keys{p.lengths.keys, shape.keys},
        grid_(grid),
        p_(p),
        shape_(shape),
        m_(layout),
        moving_(p.causal && p.feature.has_maximum()) {}

  linear_pairs const pairs;
  linear_side const queries, keys;

  // The features of queries and of keys, and what they are relative to.
  void form_features() const {
    map(queries, keys, p_.in.q, m_.queries);
    map(keys, queries, p_.in.k, m_.keys);
    if (!p_.feature.has_maximum()) return;
    run(key_maxima_body<A>{pairs, keys, p_.causal, m_.keys.maxima});
    if (moving_) run(factors_body<A>{pairs, keys, m_.keys.maxima, m_.factors});
    run(exp_features_body<A>{p_.feature, pairs, queries, m_.queries});
    run(exp_features_body<A>{p_.feature, pairs, keys, m_.keys});
  }

  // S and Z.
  void sum_keys() const {
    sum_tiles(keys, m_.keys.phi, to_end(), values_of(p_.in.v), nullptr, false);
  }
  // U and u, from g and c.
  void sum_queries() const { sum_tiles(queries, m_.queries.phi, since_tile(), g(), m_.d, true); }

  void outputs(tensor4<T> y) const {
    divisors_body<T> d{};
    describe(d);
    d.factors = since_tile();
    d.d = m_.d;
    run(d);
    auto all = attend<attend_step::outputs>(queries, keys);
    all.left = features_of(m_.queries, queries);
    all.right = features_of(m_.keys, keys);
    all.times = values_of(p_.in.v);
    all.factors = since_tile();
    all.numbers = m_.d;
    all.results = y;
    run(all);
  }

  // g, c, and the gradients of the features of queries.
  void query_gradients(tensor4<T const> dy) const {
    if (p_.causal) {
      running_sums_body<A> z{};
      z.pairs = pairs;
      z.queries = queries;
      z.keys = keys;
      z.phi = m_.keys.phi;
      z.kept = moving_ ? m_.factors.of_step : nullptr;
      z.before = m_.row_sums;
      z.to = m_.running;
      run(z);
    }
    divisors_body<T> d{};
    describe(d);
    d.running = running();
    d.slopes = m_.d;
    d.dy = values_of(dy);
    d.values = shape_.values;
    d.g = m_.g;
    run(d);
    auto all = attend<attend_step::query_gradients>(queries, keys);
    all.left = g();
    all.right = values_of(p_.in.v);
    all.times = features_of(m_.keys, keys);
    all.factors = since_tile();
    all.gradients = m_.query_gradients.phi;
    run(all);
    sum_gradients_body<A> c{};
    c.pairs = pairs;
    c.queries = queries;
    c.phi = m_.queries.phi;
    c.features = p_.feature.count;
    c.running = running();
    c.before = m_.row_sums;
    c.c = m_.d;
    c.dphi = m_.query_gradients.phi;
    run(c);
  }
  // Of keys.
  void key_gradients() const {
    auto all = attend<attend_step::key_gradients>(keys, queries);
    all.left = values_of(p_.in.v);
    all.right = g();
    all.times = features_of(m_.queries, queries);
    all.factors = to_end();
    all.numbers = m_.d;
    all.row_sums = m_.row_sums.data;
    all.gradients = m_.key_gradients.phi;
    run(all);
  }
  void value_gradients(tensor4<T> dv, grad_mode mode) const {
    auto all = attend<attend_step::value_gradients>(keys, queries);
    all.left = features_of(m_.keys, keys);
    all.right = features_of(m_.queries, queries);
    all.times = g();
    all.factors = to_end();
    all.results = dv;
    all.mode = mode;
    run(all);
  }

  void pull_queries(tensor4<T> dq, grad_mode mode) const {
    pull(queries, keys, p_.in.q, m_.queries, m_.query_gradients, dq, mode);
  }
  void pull_keys(tensor4<T> dk, grad_mode mode) const {
    pull(keys, queries, p_.in.k, m_.keys, m_.key_gradients, dk, mode);
  }
  // The pairs' parts of dw, behind both of these.
  void sum_w_gradients() const {
    sum_w_gradients(queries, m_.queries, m_.query_gradients, false, true);
    sum_w_gradients(keys, m_.keys, m_.key_gradients, p_.causal, false);
  }

 private:
  using Feature = decltype(Problem::own);

  template <class Body>
  void run(Body const& body) const {
    if (body.blocks() > 0) grid_.run(body, body.blocks(), Body::max_threads);
  }

  A const* since_tile() const { return moving_ ? m_.factors.since_tile : nullptr; }
  A const* to_end() const { return moving_ ? m_.factors.to_end : nullptr; }
  A const* running() const { return p_.causal ? m_.running : nullptr; }

  static linear_operand<T> values_of(tensor4<T const> tensor) { return {tensor}; }
  linear_operand<T> g() const { return {{}, m_.g, shape_.queries, shape_.values}; }
  linear_operand<T> features_of(linear_features<A> const& of, linear_side const& side) const {
    return {{}, of.phi, side.rows, p_.feature.count};
  }

  void map(linear_side const& side, linear_side const& other, tensor4<T const> x,
           linear_features<A> const& to) const {
    feature_rows_body<Feature, T> all{p_.own};
    all.rule = p_.feature;
    all.pairs = pairs;
    all.side = side;
    all.other = other;
    all.x = values_of(x);
    all.to = to;
    run(all);
    if (!detail::is_random(p_.feature.kind)) return;
    run(random_features_body<T>{p_.feature, pairs, side, p_.in.w, to});
    if (p_.feature.has_maximum())
      run(row_maxima_body<A>{pairs, side, p_.feature.count, to.phi, to.maxima});
  }

  void sum_tiles(linear_side const& side, A const* phi, A const* factors,
                 linear_operand<T> const& right, A const* weights, bool from_last) const {
    tile_sums_body<T> all{};
    all.pairs = pairs;
    all.side = side;
    all.left = phi;
    all.left_pitch = all.left_width = p_.feature.count;
    all.factors = factors;
    all.right = right;
    all.right_width = shape_.values;
    all.to = m_.sums;
    run(all);
    weighted_sums_body<A> rows{};
    rows.pairs = pairs;
    rows.side = side;
    rows.left = phi;
    rows.factors = factors;
    rows.weights = weights;
    rows.to = m_.row_sums;
    run(rows);
    add_tiles(m_.sums, side, from_last);
    add_tiles(m_.row_sums, side, from_last);
  }
  // Sums of tiles become those of all tiles or, where causal, of the tiles before or behind each.
  void add_tiles(tile_sums<A> const& sums, linear_side const& side, bool from_last) const {
    scan_body<A> scan{};
    scan.sums = sums;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.from_last = p_.causal && from_last;
    scan.kept = moving_ ? m_.factors.of_tile : nullptr;
    scan.total = p_.causal ? nullptr : sums.data;
    scan.total_pitch = sums.slots * sums.size;
    scan.begins = true;
    run(scan);
  }

  void describe(divisors_body<T>& d) const {
    d.pairs = pairs;
    d.queries = queries;
    d.phi = m_.queries.phi;
    d.features = p_.feature.count;
    d.before = m_.row_sums;
    d.causal = p_.causal;
    d.divisor = p_.divisor;
  }
  template <attend_step Step>
  attend_body<T, Step> attend(linear_side const& side, linear_side const& other) const {
    using body = attend_body<T, Step>;
    constexpr bool of_values = Step == attend_step::outputs || Step == attend_step::value_gradients;
    body all{};
    all.pairs = pairs;
    all.causal = p_.causal;
    all.side = side;
    all.other = other;
    all.depth = of_values ? p_.feature.count : shape_.values;
    all.width = of_values ? shape_.values : p_.feature.count;
    all.sums = m_.sums;
    all.maxima = moving_ ? m_.keys.maxima : nullptr;
    all.divisor = p_.divisor;
    return all;
  }

  void pull(linear_side const& side, linear_side const& other, tensor4<T const> x,
            linear_features<A> const& of, linear_gradients<A> const& gradients, tensor4<T> to,
            grad_mode mode) const {
    if (detail::is_random(p_.feature.kind)) {
      run(product_gradients_body<A>{p_.feature, pairs, side, of, gradients});
      if (to.data() != nullptr) run(times_w_body<T>{p_.feature, pairs, side, p_.in.w, gradients});
    }
    if (to.data() == nullptr) return;
    pull_rows_body<Feature, T> all{p_.own};
    all.rule = p_.feature;
    all.pairs = pairs;
    all.side = side;
    all.other = other;
    all.x = values_of(x);
    all.of = of;
    all.gradients = gradients;
    all.to = to;
    all.mode = mode;
    run(all);
  }

  void sum_w_gradients(linear_side const& side, linear_features<A> const& of,
                       linear_gradients<A> const& gradients, bool from_last, bool begins) const {
    index_t const r = p_.feature.rows_of_w, channels = shape_.channels;
    tile_sums<A> const parts{m_.sums.data, m_.sums.slots, r * channels};
    linear_operand<T> const z{{}, of.z, side.rows, channels};
    tile_sums_body<T> all{};
    all.pairs = pairs;
    all.side = side;
    all.left = gradients.phi;
    all.left_pitch = p_.feature.count;
    all.left_width = r;
    all.right = z;
    all.right_width = channels;
    all.to = parts;
    run(all);
    scan_body<A> scan{};
    scan.sums = parts;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.from_last = from_last;
    scan.total = m_.w_parts;
    scan.total_pitch = r * channels;
    scan.begins = begins;
    run(scan);
  }

  Grid const& grid_;
  Problem const& p_;
  detail::linear_attention_shape const& shape_;
  linear_grid_layout<A> const& m_;
  bool const moving_;  // whether the maximum of keys runs, and sums follow it
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
