// SPDX-License-Identifier: Apache-2.0
// linear_attention on a grid: features, their sums over tiles of keys, and the queries; backward
// these again, and then the way back. It takes as many pairs of a sample and a head at a time as
// the workspace has room for.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/linear_attention/device/backward.hpp>
#include <slicesort/detail/linear_attention/device/launch.hpp>
#include <slicesort/detail/linear_attention/device/launch_backward.hpp>
#include <slicesort/detail/linear_attention/device/layout.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/tensor_product_tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class Feature>
struct device_implementation<linear_attention_op<Feature>> {
  // Serves both directions.
  template <class T, class Grid>
  static void plan(Grid const& grid, linear_attention_shape const& s, arena& a) {
    a.overlap([&](arena& one) { (void)layout<T>(grid, one, s, false); },
              [&](arena& other) { (void)layout<T>(grid, other, s, true); });
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, linear_attention_forward<Feature, T> const& p,
                      workspace w) {
    using params = linear_attention_forward<Feature, T>;
    auto const s = p.shape();
    arena a(w);
    auto const m = layout<T>(grid, a, s, false);
    auto const launch = [&](auto kind) {
      for (index_t first = 0; first < s.pairs(); first += m.pairs) {
        linear_launches<Grid, params, decltype(kind)::value> const launches(
            grid, p, s, m, pairs_from(first, m.pairs, s));
        launches.compute_features();
        launches.sum_keys();
        launches.run(launches.output_kernel(p.y));
      }
    };
    if constexpr (may_use_tensor_cores<T>)
      if (p.multiply == products::native) return launch(native_products{});
    launch(exact_products{});
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, linear_attention_backward<Feature, T> const& p,
                       workspace w) {
    using params = linear_attention_backward<Feature, T>;
    auto const s = p.shape();
    arena a(w);
    auto const m = layout<T>(grid, a, s, true);
    bool const of_keys = p.to.dk.data() != nullptr || s.with_dw;
    auto const launch = [&](auto kind) {
      for (index_t first = 0; first < s.pairs(); first += m.pairs) {
        linear_pairs const pairs = pairs_from(first, m.pairs, s);
        linear_backward_launches<Grid, params, decltype(kind)::value> const launches(grid, p, s, m,
                                                                                     pairs);
        launches.compute_features();
        launches.sum_keys();
        launches.query_gradients(p.dy);
        if (of_keys || p.to.dv.data() != nullptr) launches.sum_queries();
        if (p.to.dv.data() != nullptr) launches.value_gradients(p.to.dv, p.mode);
        if (of_keys) launches.key_gradients();
        if (p.to.dq.data() != nullptr || s.with_dw) launches.pull_queries(p.to.dq, p.mode);
        if (of_keys) launches.pull_keys(p.to.dk, p.mode);
        if (!s.with_dw) continue;
        launches.sum_w_gradients();
        add_to_dw(grid, p, m, pairs, s.pairs());
      }
      if (s.with_dw && s.pairs() == 0) add_to_dw(grid, p, m, {0, 0, 1}, 0);
    };
    if constexpr (may_use_tensor_cores<T>)
      if (p.multiply == products::native) return launch(native_products{});
    launch(exact_products{});
  }

 private:
  using exact_products = std::integral_constant<products, products::exact>;
  using native_products = std::integral_constant<products, products::native>;

  template <class T, class Grid>
  static linear_grid_layout<accumulator_t<T>> layout(Grid const& grid, arena& a,
                                                     linear_attention_shape const& s,
                                                     bool backward) {
    return {a, s, backward, grid_tuning_of<T>(grid).chunk_elements};
  }
  static linear_pairs pairs_from(index_t first, index_t most, linear_attention_shape const& s) {
    return {first, std::min(most, s.pairs() - first), s.heads};
  }
  template <class Grid, class T, class Layout>
  static void add_to_dw(Grid const& grid, linear_attention_backward<Feature, T> const& p,
                        Layout const& m, linear_pairs pairs, index_t of_call) {
    w_gradient_kernel<T> kernel{};
    kernel.pairs = pairs;
    kernel.parts = m.w_parts;
    kernel.begins = pairs.first == 0;
    kernel.ends = pairs.first + pairs.count == of_call;
    kernel.sums = m.w_sums;
    kernel.dw = p.to.dw;
    kernel.mode = p.mode;
    if (kernel.blocks() > 0) grid.run(kernel, kernel.blocks(), kernel.max_threads);
  }
};

SLICESORT_DETAIL_END
