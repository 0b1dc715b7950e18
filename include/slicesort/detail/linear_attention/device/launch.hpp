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

SLICESORT_DETAIL_BEGIN

// Kernels and launches for some pairs. `Problem`: params of forward, or of backward. `Kind`: exact
// products, or those of tensor cores.
template <class Grid, class Params, products Kind>
class linear_launches {
 public:
  using T = typename Params::element;
  using A = accumulator_t<T>;

  linear_launches(Grid const& grid, Params const& problem, linear_attention_shape const& its_shape,
                  linear_grid_layout<A> const& layout, linear_pairs some)
      : pairs(some),
        queries{problem.lengths.queries, its_shape.queries},
        keys{problem.lengths.keys, its_shape.keys},
        moving(problem.causal && problem.feature.has_maximum()),
        p(problem),
        shape(its_shape),
        m(layout),
        grid_(grid) {}

  // Computes the features of queries and of keys, and their maxima.
  void compute_features() const {
    if (p.feature.of_elements()) return;
    map(queries, keys, p.in.q, m.queries);
    map(keys, queries, p.in.k, m.keys);
    if (!p.feature.has_maximum()) return;
    run(key_maxima_kernel<A>{pairs, keys, p.causal, m.keys.maxima});
    if (moving) run(factors_kernel<A>{pairs, keys, m.keys.maxima, m.factors});
    run(exp_features_kernel<A>{p.feature, pairs, queries, m.queries});
    run(exp_features_kernel<A>{p.feature, pairs, keys, m.keys});
  }

  // Computes S and Z.
  void sum_keys() const {
    sum_tiles(keys, features_of_keys(), to_end(), of_tensor(p.in.v), nullptr, false);
  }

  auto output_kernel(tensor4<T> y) const {
    auto kernel = kernel_of_step<attend_step::outputs>(queries, keys);
    kernel.left = features_of_queries();
    kernel.right = features_of_keys();
    kernel.times = of_tensor(p.in.v);
    kernel.factors = since_tile();
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
  bool const moving;  // whether the maximum of keys runs, and sums follow it
  Params const& p;
  linear_attention_shape const& shape;
  linear_grid_layout<A> const& m;

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
    scan_kernel<A> scan{};
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
    tile_sums_kernel<T, Kind> kernel{};
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.left = left;
    kernel.factors = factors;
    kernel.right = right;
    kernel.sums_rows = sums_rows;
    kernel.weights = weights;
    kernel.to = to;
    run(kernel);
  }

  // The kernel of a step, without the matrices that differ from step to step.
  template <attend_step Step>
  linear_output_kernel<T, Step, Kind> kernel_of_step(linear_side const& side,
                                                     linear_side const& other) const {
    using Kernel = linear_output_kernel<T, Step, Kind>;
    Kernel kernel{};
    kernel.pairs = pairs;
    kernel.causal = p.causal;
    kernel.side = side;
    kernel.other = other;
    kernel.depth = Kernel::of_features ? p.feature.count : shape.values;
    kernel.width = Kernel::of_features ? shape.values : p.feature.count;
    kernel.sums = m.sums;
    kernel.maxima = moving ? m.keys.maxima : nullptr;
    kernel.divisor = p.divisor;
    return kernel;
  }

 private:
  using Feature = decltype(Params::own);

  feature_operand<T> features(tensor4<T const> x, linear_features<A> const& of,
                              linear_side const& side) const {
    if (p.feature.of_elements())
      return {x, nullptr, 0, 0, {p.feature.kind, static_cast<A>(p.feature.eps)}};
    return {{}, of.phi, side.rows, p.feature.count, {}};
  }

  void map(linear_side const& side, linear_side const& other, tensor4<T const> x,
           linear_features<A> const& to) const {
    feature_rows_kernel<Feature, T> kernel{p.own};
    kernel.config = p.feature;
    kernel.pairs = pairs;
    kernel.side = side;
    kernel.other = other;
    kernel.x = of_tensor(x);
    kernel.to = to;
    run(kernel);
    if (!is_random(p.feature.kind)) return;
    run(random_features_kernel<T, Kind>{p.feature, pairs, side, p.in.w, to});
    if (p.feature.has_maximum())
      run(row_maxima_kernel<A>{pairs, side, p.feature.count, to.phi, to.maxima});
  }

  Grid const& grid_;
};

SLICESORT_DETAIL_END
