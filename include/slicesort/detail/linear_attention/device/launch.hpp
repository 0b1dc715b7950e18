// SPDX-License-Identifier: Apache-2.0
// The launches of linear_attention for some pairs of a sample and a head: what forward is made of,
// and backward begins with.
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

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// `Problem`: of forward, or of backward.
template <class Grid, class Problem>
class linear_launches {
 public:
  using T = typename Problem::element;
  using A = accumulator_t<T>;

  linear_launches(Grid const& grid, Problem const& problem, linear_attention_shape const& its_shape,
                  linear_grid_layout<A> const& layout, linear_pairs some)
      : pairs(some),
        queries{problem.lengths.queries, its_shape.queries},
        keys{problem.lengths.keys, its_shape.keys},
        moving(problem.causal && problem.feature.has_maximum()),
        p(problem),
        shape(its_shape),
        m(layout),
        grid_(grid) {}

  // The features of queries and of keys, and what they are relative to.
  void form_features() const {
    if (p.feature.of_elements()) return;
    map(queries, keys, p.in.q, m.queries);
    map(keys, queries, p.in.k, m.keys);
    if (!p.feature.has_maximum()) return;
    run(key_maxima_body<A>{pairs, keys, p.causal, m.keys.maxima});
    if (moving) run(factors_body<A>{pairs, keys, m.keys.maxima, m.factors});
    run(exp_features_body<A>{p.feature, pairs, queries, m.queries});
    run(exp_features_body<A>{p.feature, pairs, keys, m.keys});
  }

  // S and Z.
  void sum_keys() const {
    sum_tiles(keys, features_of_keys(), to_end(), of_tensor(p.in.v), nullptr, false);
  }

  void outputs(tensor4<T> y) const {
    attend<attend_step::outputs>(queries, keys, [&](auto& all) {
      all.left = features_of_queries();
      all.right = features_of_keys();
      all.times = of_tensor(p.in.v);
      all.factors = since_tile();
      all.results = y;
    });
  }

 protected:
  linear_pairs const pairs;
  linear_side const queries, keys;
  bool const moving;  // whether the maximum of keys runs, and sums follow it
  Problem const& p;
  linear_attention_shape const& shape;
  linear_grid_layout<A> const& m;

  template <class Body>
  void run(Body const& body) const {
    if (body.blocks() > 0) grid_.run(body, body.blocks(), Body::max_threads);
  }
  // f(kind), a constant: whether products go through tensor cores.
  template <class F>
  void with_products(F const& f) const {
    if constexpr (may_use_tensor_cores<T>)
      if (p.multiply == products::native)
        return f(std::integral_constant<products, products::native>{});
    f(std::integral_constant<products, products::exact>{});
  }

  A const* since_tile() const { return moving ? m.factors.since_tile : nullptr; }
  A const* to_end() const { return moving ? m.factors.to_end : nullptr; }

  static linear_operand<T> of_tensor(tensor4<T const> tensor) {
    return {tensor, nullptr, 0, 0, {}};
  }
  feature_operand<T> features_of_queries() const { return features(p.in.q, m.queries, queries); }
  feature_operand<T> features_of_keys() const { return features(p.in.k, m.keys, keys); }

  // Of the rows of a tile, and of all tiles, or where causal of those before each, or behind.
  void sum_tiles(linear_side const& side, feature_operand<T> const& phi, A const* factors,
                 linear_operand<T> const& right, A const* weights, bool from_last) const {
    sum_each_tile(side, phi, factors, right, true, weights, m.sums);
    scan_body<A> scan{};
    scan.sums = m.sums;
    scan.pairs = pairs.count;
    scan.tiles = side.tiles();
    scan.from_last = p.causal && from_last;
    scan.kept = moving ? m.factors.of_tile : nullptr;
    scan.total = p.causal ? nullptr : m.sums.data;
    scan.total_pitch = m.sums.slots * m.sums.size;
    scan.begins = true;
    run(scan);
  }
  void sum_each_tile(linear_side const& side, feature_operand<T> const& left, A const* factors,
                     linear_operand<T> const& right, bool sums_rows, A const* weights,
                     tile_sums<A> const& to) const {
    with_products([&](auto kind) {
      tile_sums_body<T, decltype(kind)::value> all{};
      all.pairs = pairs;
      all.side = side;
      all.left = left;
      all.factors = factors;
      all.right = right;
      all.sums_rows = sums_rows;
      all.weights = weights;
      all.to = to;
      run(all);
    });
  }

  // describe(body) says what a step takes.
  template <attend_step Step, class F>
  void attend(linear_side const& side, linear_side const& other, F const& describe) const {
    with_products([&](auto kind) {
      using body = attend_body<T, Step, decltype(kind)::value>;
      body all{};
      all.pairs = pairs;
      all.causal = p.causal;
      all.side = side;
      all.other = other;
      all.depth = body::of_features ? p.feature.count : shape.values;
      all.width = body::of_features ? shape.values : p.feature.count;
      all.sums = m.sums;
      all.maxima = moving ? m.keys.maxima : nullptr;
      all.divisor = p.divisor;
      describe(all);
      run(all);
    });
  }

 private:
  using Feature = decltype(Problem::own);

  feature_operand<T> features(tensor4<T const> x, linear_features<A> const& of,
                              linear_side const& side) const {
    if (p.feature.of_elements())
      return {x, nullptr, 0, 0, {p.feature.kind, static_cast<A>(p.feature.eps)}};
    return {{}, of.phi, side.rows, p.feature.count, {}};
  }

  void map(linear_side const& side, linear_side const& other, tensor4<T const> x,
           linear_features<A> const& to) const {
    feature_rows_body<Feature, T> all{p.own};
    all.rule = p.feature;
    all.pairs = pairs;
    all.side = side;
    all.other = other;
    all.x = of_tensor(x);
    all.to = to;
    run(all);
    if (!is_random(p.feature.kind)) return;
    with_products([&](auto kind) {
      run(random_features_body<T, decltype(kind)::value>{p.feature, pairs, side, p.in.w, to});
    });
    if (p.feature.has_maximum())
      run(row_maxima_body<A>{pairs, side, p.feature.count, to.phi, to.maxima});
  }

  Grid const& grid_;
};

SLICESORT_DETAIL_END
