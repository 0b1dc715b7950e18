// SPDX-License-Identifier: Apache-2.0
// linear_attention on a grid: features, their sums over tiles of keys, and the queries; backward
// these again, and then the way back. It takes as many pairs of a sample and a head at a time as
// the workspace has room for.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/linear_attention/device/launch.hpp>
#include <slicesort/detail/linear_attention/device/launch_backward.hpp>
#include <slicesort/detail/linear_attention/device/layout.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/w_gradient.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

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
    auto const s = p.shape();
    arena a(w);
    auto const m = layout<T>(grid, a, s, false);
    each_part(s, m.pairs, [&](linear_pairs pairs) {
      linear_launches const of(grid, p, s, m, pairs);
      of.form_features();
      of.sum_keys();
      of.outputs(p.y);
    });
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, linear_attention_backward<Feature, T> const& p,
                       workspace w) {
    auto const s = p.shape();
    arena a(w);
    auto const m = layout<T>(grid, a, s, true);
    bool const of_keys = p.to.dk.data() != nullptr || s.with_dw;
    each_part(s, m.pairs, [&](linear_pairs pairs) {
      linear_backward_launches<Grid, linear_attention_backward<Feature, T>> const of(grid, p, s, m,
                                                                                     pairs);
      of.form_features();
      of.sum_keys();
      of.query_gradients(p.dy);
      if (of_keys || p.to.dv.data() != nullptr) of.sum_queries();
      if (p.to.dv.data() != nullptr) of.value_gradients(p.to.dv, p.mode);
      if (of_keys) of.key_gradients();
      if (p.to.dq.data() != nullptr || s.with_dw) of.pull_queries(p.to.dq, p.mode);
      if (of_keys) of.pull_keys(p.to.dk, p.mode);
      if (!s.with_dw) return;
      of.sum_w_gradients();
      add_to_dw(grid, p, m, pairs, s.pairs());
    });
    if (s.with_dw && s.pairs() == 0) add_to_dw(grid, p, m, {0, 0, 1}, 0);
  }

 private:
  template <class T, class Grid>
  static linear_grid_layout<accumulator_t<T>> layout(Grid const& grid, arena& a,
                                                     linear_attention_shape const& s,
                                                     bool backward) {
    return {a, s, backward, grid_tuning_of<T>(grid).chunk_elements};
  }
  template <class F>
  static void each_part(linear_attention_shape const& s, index_t pairs, F const& f) {
    for (index_t first = 0; first < s.pairs(); first += pairs)
      f(linear_pairs{first, std::min(pairs, s.pairs() - first), s.heads});
  }
  template <class Grid, class T, class Layout>
  static void add_to_dw(Grid const& grid, linear_attention_backward<Feature, T> const& p,
                        Layout const& m, linear_pairs pairs, index_t of_call) {
    w_gradient_body<T> all{};
    all.pairs = pairs;
    all.parts = m.w_parts;
    all.begins = pairs.first == 0;
    all.ends = pairs.first + pairs.count == of_call;
    all.sums = m.w_sums;
    all.dw = p.to.dw;
    all.mode = p.mode;
    if (all.blocks() > 0) grid.run(all, all.blocks(), all.max_threads);
  }
};

SLICESORT_DETAIL_END
