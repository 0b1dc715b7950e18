// SPDX-License-Identifier: Apache-2.0
// Softmax attention on a grid: streaming here, materialized in kernel/materialized.hpp.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/softmax_attention/device/backward_bias.hpp>
#include <slicesort/detail/softmax_attention/device/backward_kv.hpp>
#include <slicesort/detail/softmax_attention/device/backward_q.hpp>
#include <slicesort/detail/softmax_attention/device/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/device/forward.hpp>
#include <slicesort/detail/softmax_attention/device/materialized.hpp>
#include <slicesort/detail/softmax_attention/device/query_stats.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// f(width) with the width of tiles that suits so many channels, as a type.
template <class T, class F>
void with_tile_width(attention_shape const& s, bool narrow, F const& f) {
  if constexpr (sizeof(T) == 2) {
    index_t const channels = std::max(s.channels, s.values);
    if (!narrow && narrow_tile < channels && channels <= wide_tile)
      return f(std::integral_constant<int, wide_tile>{});
  }
  f(std::integral_constant<int, narrow_tile>{});
}

template <class Mask>
struct device_implementation<streaming_attention_op<Mask>> {
  template <class T, class Grid>
  static void plan(Grid const&, attention_shape const& s, arena& a) {
    (void)layout<T>(a, s);
  }

  template <class Grid, class T, class State>
  static void forward(Grid const& grid, attention_forward<Mask, T, State> const& p, workspace) {
    attention_shape const s(p.in);
    attention_tuning const tuning = attention_tuning_of<T>(grid);
    with_tile_width<T>(s, false, [&](auto width) {
      attention_forward_kernel<Mask, T, width> all{p.mask};
      all.scale = static_cast<State>(p.scale);
      all.in = p.in;
      all.y = p.y;
      if (p.saving) all.state = p.state;
      all.lengths = p.lengths;
      all.drop = dropout_config::of(p.drop, p.in.q.extents().heads);
      all.warps = tuning.forward_warps;
      while (all.warps > 1 && all.queries_of_block() >= 2 * s.queries) all.warps /= 2;
      while (all.warps > 1 && shared_bytes(all) > grid.info().shared_bytes) all.warps /= 2;
      if (all.blocks() > 0) grid.run(all, all.blocks(), warp_threads * all.warps);
    });
  }

  template <class Grid, class T, class State>
  static void backward(Grid const& grid, attention_backward<Mask, T, State> const& p, workspace w) {
    auto const s = p.shape();
    arena a(w);
    layout<T> const m(a, s);
    query_stats_kernel<T> const stats{p.dy, p.y, p.state, p.lengths, m.stats};
    if (stats.blocks() > 0) grid.run(stats, stats.blocks(), stats.max_threads);
    bool const summed = s.dbias.form != bias_gradient::of_pairs;
    if (p.to.dk.data() != nullptr || p.to.dv.data() != nullptr) backward_kv(grid, p, m);
    if (p.to.dq.data() != nullptr || (p.to.dbias.data() != nullptr && !summed))
      backward_q(grid, p, m, summed ? tensor4<T>() : p.to.dbias);
    if (summed) backward_bias(grid, p, m);
  }

 private:
  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    static constexpr int tile = attention_backward_kv_kernel<Mask, T, narrow_tile>::queries_of_tile;
    query_stats<A>* stats;  // of every query
    range_bounds* bounds;   // of every tile of queries; of each head where masks differ
    A* distances;           // of each head, for a relative dbias

    layout(arena& a, attention_shape const& s)
        : stats(a.take<query_stats<A>>(amount(s.batch) * s.heads * s.queries)),
          bounds(a.take<range_bounds>(amount(s.batch) * (has_for_head<Mask> ? s.heads : 1) *
                                      divide_up(s.queries, tile))),
          distances(a.take<A>(s.dbias.form != bias_gradient::relative
                                  ? amount(0)
                                  : amount(s.batch) * s.heads *
                                        attention_backward_bias_kernel<Mask, T>::most_partial_sums(
                                            s.queries, s.keys))) {}
  };

  template <class Grid, class T, class State, class Layout>
  static void backward_kv(Grid const& grid, attention_backward<Mask, T, State> const& p,
                          Layout const& m) {
    auto const s = p.shape();
    attention_tuning const tuning = attention_tuning_of<T>(grid);
    query_bounds_kernel<Mask> bounds{p.mask};
    bounds.lengths = p.lengths;
    bounds.samples = s.batch;
    bounds.heads = s.heads;
    bounds.queries = s.queries;
    bounds.keys = s.keys;
    bounds.queries_of_tile = m.tile;
    bounds.bounds = m.bounds;
    if (bounds.blocks() > 0) grid.run(bounds, bounds.blocks(), bounds.max_threads);
    with_tile_width<T>(s, p.drop.rate > 0, [&](auto width) {
      attention_backward_kv_kernel<Mask, T, width> all{p.mask};
      describe(all, p, m);
      all.bounds = m.bounds;
      all.mode = p.mode;
      all.dk = p.to.dk;
      all.dv = p.to.dv;
      all.warps = tuning.backward_kv_warps;
      all.buffers = tuning.backward_buffers;
      while (all.warps > 1 && all.keys_of_block() >= 2 * s.keys) all.warps /= 2;
      fit(grid, all, all);
      if (all.blocks() > 0) grid.run(all, all.blocks(), warp_threads * all.warps);
    });
  }
  template <class Grid, class T, class State, class Layout>
  static void backward_q(Grid const& grid, attention_backward<Mask, T, State> const& p,
                         Layout const& m, tensor4<T> dbias) {
    auto const s = p.shape();
    attention_tuning const tuning = attention_tuning_of<T>(grid);
    with_tile_width<T>(s, false, [&](auto width) {
      attention_backward_q_kernel<Mask, T, width> all{{p.mask}};
      describe(all.tile, p, m);
      all.dq = p.to.dq;
      all.dbias = dbias;
      all.mode = p.mode;
      all.tile.of_bias = all.dbias.data() != nullptr;
      all.tile.warps = tuning.backward_q_warps;
      all.tile.buffers = tuning.backward_buffers;
      while (all.tile.warps > 1 && all.tile.queries_of_block() >= 2 * s.queries)
        all.tile.warps /= 2;
      fit(grid, all, all.tile);
      if (all.blocks() > 0) grid.run(all, all.blocks(), warp_threads * all.tile.warps);
    });
  }
  // A dbias that is relative or shared.
  template <class Grid, class T, class State, class Layout>
  static void backward_bias(Grid const& grid, attention_backward<Mask, T, State> const& p,
                            Layout const& m) {
    auto const s = p.shape();
    attention_tuning const tuning = attention_tuning_of<T>(grid);
    attention_backward_bias_kernel<Mask, T> all{{p.mask}};
    describe(all.tile, p, m);
    all.dbias = p.to.dbias;
    all.mode = p.mode;
    all.tile.of_bias = true;
    all.to = s.dbias;
    all.distances = m.distances;
    all.tile.warps = tuning.backward_q_warps;
    all.tile.buffers = 1;
    while (all.tile.warps > 1 && all.tile.queries_of_block() >= 2 * s.queries) all.tile.warps /= 2;
    fit(grid, all, all.tile);
    if (all.blocks() > 0) grid.run(all, all.blocks(), warp_threads * all.tile.warps);
    if (all.relative()) {
      distance_sums_kernel<T> sums{};
      sums.shape = s;
      sums.bands = all.bands();
      sums.partial_sums = m.distances;
      sums.dbias = p.to.dbias;
      sums.mode = p.mode;
      if (sums.blocks() > 0) grid.run(sums, sums.blocks(), sums.max_threads);
    }
  }

  // What the backward kernels all read.
  template <class Kernel, class T, class State, class Layout>
  static void describe(Kernel& all, attention_backward<Mask, T, State> const& p, Layout const& m) {
    all.scale = static_cast<State>(p.scale);
    all.in = p.in;
    all.dy = p.dy;
    all.stats = m.stats;
    all.lengths = p.lengths;
    all.drop = dropout_config::of(p.drop, p.in.q.extents().heads);
  }
  // One buffer, then fewer warps, where shared memory is small.
  template <class Grid, class Kernel, class Tile>
  static void fit(Grid const& grid, Kernel const& all, Tile& tile) {
    int const buffers = tile.buffers;
    while (shared_bytes(all) > grid.info().shared_bytes) {
      if (tile.buffers > 1) {
        tile.buffers = 1;
      } else if (tile.warps > 1) {
        tile.buffers = buffers;
        tile.warps /= 2;
      } else {
        return;
      }
    }
  }
};

SLICESORT_DETAIL_END
