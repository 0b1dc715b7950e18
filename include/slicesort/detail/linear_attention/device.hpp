// SPDX-License-Identifier: Apache-2.0
// Device backend of linear_attention, for any grid. Forward computes features, sums over tiles of
// keys, and outputs. Backward repeats the first two steps, then computes the gradients. Both
// process as many (sample, head) pairs at a time as the workspace holds.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/linear_attention/device/backward.hpp>
#include <slicesort/detail/linear_attention/device/carried_state.hpp>
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
  // Reserves the larger workspace of forward and backward.
  template <class T, class Grid>
  static void plan(Grid const& grid, linear_attention_shape const& s, arena& memory) {
    auto const rows = with_state_rows(s);
    memory.overlap([&](arena& forward) { (void)make_layout<T>(grid, forward, rows, false); },
                   [&](arena& backward) { (void)make_layout<T>(grid, backward, rows, true); });
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, linear_attention_forward<Feature, T> const& params,
                      workspace memory) {
    using Params = linear_attention_forward<Feature, T>;
    auto const s = with_state_rows(params.shape());
    arena allocator(memory);
    auto const layout = make_layout<T>(grid, allocator, s, false);
    compute_positions(grid, params, layout);
    auto const launch = [&](auto multiply) {
      for (index_t first = 0; first < s.pairs(); first += layout.pairs) {
        linear_launches<Grid, Params, decltype(multiply)::value> const launches(
            grid, params, s, layout, pairs_from(first, layout.pairs, s));
        launches.compute_features();
        launches.compute_key_sums();
        launches.run(launches.make_output_kernel(params.y));
        launches.store_outputs(params.y);
        launches.store_state(params.states.last);
      }
    };
    if constexpr (may_use_tensor_cores<T>)
      if (params.multiply == products::native) return launch(native_products{});
    launch(exact_products{});
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, linear_attention_backward<Feature, T> const& params,
                       workspace memory) {
    using Params = linear_attention_backward<Feature, T>;
    auto const s = with_state_rows(params.shape());
    arena allocator(memory);
    auto const layout = make_layout<T>(grid, allocator, s, true);
    compute_positions(grid, params, layout);
    bool const needs_dinitial = params.states.dinitial.data() != nullptr;
    bool const needs_dv = params.grads.dv.data() != nullptr || needs_dinitial;
    bool const needs_dk = params.grads.dk.data() != nullptr || s.with_dw;
    bool const needs_key_grads = needs_dk || needs_dinitial;
    auto const launch = [&](auto multiply) {
      for (index_t first = 0; first < s.pairs(); first += layout.pairs) {
        linear_pairs const pairs = pairs_from(first, layout.pairs, s);
        linear_backward_launches<Grid, Params, decltype(multiply)::value> const launches(
            grid, params, s, layout, pairs);
        launches.compute_features();
        launches.compute_key_sums();
        launches.compute_query_feature_grads(params.dy);
        if (needs_key_grads || needs_dv) launches.compute_query_sums();
        if (needs_dv) launches.compute_dv(params.grads.dv, params.mode);
        if (needs_key_grads) launches.compute_key_feature_grads();
        if (params.grads.dq.data() != nullptr || s.with_dw)
          launches.compute_dq(params.grads.dq, params.mode);
        if (needs_dk) launches.compute_dk(params.grads.dk, params.mode);
        launches.store_state_gradient();
        if (!s.with_dw) continue;
        launches.compute_partial_dw();
        add_to_dw(grid, params, layout, pairs.kv(), s.kv_pairs());
      }
      if (s.with_dw && s.pairs() == 0) add_to_dw(grid, params, layout, {0, 0, 1}, 0);
    };
    if constexpr (may_use_tensor_cores<T>)
      if (params.multiply == products::native) return launch(native_products{});
    launch(exact_products{});
  }

 private:
  // Shape of the rows that kernels process: those of a call with states are behind those of its
  // initial state.
  static linear_attention_shape with_state_rows(linear_attention_shape s) {
    if (s.with_state && s.batch > 0 && s.heads > 0) s.queries = s.keys = carried_rows(s.keys);
    return s;
  }
  template <class Grid, class Params, class Layout>
  static void compute_positions(Grid const& grid, Params const& params, Layout const& layout) {
    if (!layout.carried.is_used()) return;
    index_t const rows = params.in.k.extents().length;
    positions_kernel<accumulator_t<typename Params::element>> const kernel{
        params.states.initial, params.lengths.keys, params.in.k.extents().batch, rows,
        layout.carried};
    grid.run(kernel, kernel.blocks(), kernel.max_threads);
  }

  using exact_products = std::integral_constant<products, products::exact>;
  using native_products = std::integral_constant<products, products::native>;

  template <class T, class Grid>
  static linear_grid_layout<accumulator_t<T>> make_layout(Grid const& grid, arena& memory,
                                                          linear_attention_shape const& s,
                                                          bool backward) {
    return {memory, s, backward, grid_tuning_of<T>(grid).chunk_elements};
  }
  static linear_pairs pairs_from(index_t first, index_t count, linear_attention_shape const& s) {
    return {first, std::min(count, s.pairs() - first), s.heads, s.group()};
  }
  template <class Grid, class T, class Layout>
  static void add_to_dw(Grid const& grid, linear_attention_backward<Feature, T> const& params,
                        Layout const& layout, linear_pairs pairs, index_t total_pairs) {
    w_gradient_kernel<T> kernel{};
    kernel.pairs = pairs;
    kernel.partial = layout.partial_dw;
    kernel.has_first_pair = pairs.first == 0;
    kernel.has_last_pair = pairs.first + pairs.count == total_pairs;
    kernel.sums = layout.dw_sums;
    kernel.dw = params.grads.dw;
    kernel.mode = params.mode;
    if (kernel.blocks() > 0) grid.run(kernel, kernel.blocks(), kernel.max_threads);
  }
};

SLICESORT_DETAIL_END
