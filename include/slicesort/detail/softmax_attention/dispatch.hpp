// SPDX-License-Identifier: Apache-2.0
// Softmax attention on a grid: streaming here, materialized in kernel/materialized.hpp.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/tuning.hpp>
#include <slicesort/detail/softmax_attention/kernel/backward_kv.hpp>
#include <slicesort/detail/softmax_attention/kernel/backward_q.hpp>
#include <slicesort/detail/softmax_attention/kernel/forward.hpp>
#include <slicesort/detail/softmax_attention/kernel/materialized.hpp>
#include <slicesort/detail/softmax_attention/kernel/query_stats.hpp>
#include <slicesort/detail/softmax_attention/kernel/softmax.hpp>
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/tuning.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// f(width) with the width of tiles that suits so many channels, as a type.
template <class T, class F>
void with_tile_width(detail::attention_shape const& s, F const& f) {
  if constexpr (sizeof(T) == 2) {
    index_t const channels = std::max(s.channels, s.values);
    if (narrow_tile < channels && channels <= wide_tile)
      return f(std::integral_constant<int, wide_tile>{});
  }
  f(std::integral_constant<int, narrow_tile>{});
}

template <class Mask>
struct grid_implementation<detail::streaming_attention_op<Mask>> {
  template <class T, class Grid>
  static void plan(Grid const&, detail::attention_shape const& s, detail::arena& a) {
    (void)layout<T>(a, s);
  }

  template <class Grid, class T, class State>
  static void forward(Grid const& grid, detail::attention_forward<Mask, T, State> const& p,
                      workspace) {
    auto const s = detail::attention_shape::of(p.in);
    attention_tuning const tuning = attention_tuning_of<T>(grid);
    with_tile_width<T>(s, [&](auto width) {
      attention_forward_body<Mask, T, width> all{p.mask};
      all.scale = static_cast<State>(p.scale);
      all.in = p.in;
      all.y = p.y;
      if (p.saving) all.state = p.state;
      all.lengths = p.lengths;
      all.warps = tuning.forward_warps;
      while (all.warps > 1 && all.queries_of_block() >= 2 * s.queries) all.warps /= 2;
      while (all.warps > 1 && shared_bytes(all) > grid.info().shared_bytes) all.warps /= 2;
      if (all.blocks() > 0) grid.run(all, all.blocks(), warp_threads * all.warps);
    });
  }

  template <class Grid, class T, class State>
  static void backward(Grid const& grid, detail::attention_backward<Mask, T, State> const& p,
                       workspace w) {
    auto const s = detail::attention_shape::of(p.in);
    detail::arena a(w);
    layout<T> const m(a, s);
    auto const scale = static_cast<State>(p.scale);
    attention_tuning const tuning = attention_tuning_of<T>(grid);
    query_stats_body<T> const stats{p.dy, p.y, p.state, p.lengths, m.stats};
    if (stats.blocks() > 0) grid.run(stats, stats.blocks(), stats.max_threads);
    bool const of_keys = p.to.dk.data() != nullptr || p.to.dv.data() != nullptr;
    bool const of_queries = p.to.dq.data() != nullptr || p.to.dbias.data() != nullptr;
    if (of_keys) {
      query_bounds_body<Mask> bounds{p.mask};
      bounds.lengths = p.lengths;
      bounds.samples = s.batch;
      bounds.heads = s.heads;
      bounds.queries = s.queries;
      bounds.keys = s.keys;
      bounds.queries_of_tile = m.tile;
      bounds.bounds = m.bounds;
      if (bounds.blocks() > 0) grid.run(bounds, bounds.blocks(), bounds.max_threads);
    }
    with_tile_width<T>(s, [&](auto width) {
      if (of_keys) {
        attention_backward_kv_body<Mask, T, width> all{p.mask};
        all.scale = scale;
        all.in = p.in;
        all.dy = p.dy;
        all.stats = m.stats;
        all.bounds = m.bounds;
        all.dk = p.to.dk;
        all.dv = p.to.dv;
        all.mode = p.mode;
        all.lengths = p.lengths;
        all.warps = tuning.backward_kv_warps;
        all.buffers = tuning.backward_buffers;
        while (all.warps > 1 && all.keys_of_block() >= 2 * s.keys) all.warps /= 2;
        fit(grid, all);
        if (all.blocks() > 0) grid.run(all, all.blocks(), warp_threads * all.warps);
      }
      if (of_queries) {
        attention_backward_q_body<Mask, T, width> all{p.mask};
        all.scale = scale;
        all.in = p.in;
        all.dy = p.dy;
        all.stats = m.stats;
        all.dq = p.to.dq;
        all.dbias = p.to.dbias;
        all.mode = p.mode;
        all.lengths = p.lengths;
        all.warps = tuning.backward_q_warps;
        all.buffers = tuning.backward_buffers;
        while (all.warps > 1 && all.queries_of_block() >= 2 * s.queries) all.warps /= 2;
        fit(grid, all);
        if (all.blocks() > 0) grid.run(all, all.blocks(), warp_threads * all.warps);
      }
    });
  }

 private:
  template <class T>
  struct layout {
    using A = detail::accumulator_t<T>;
    static constexpr int tile = attention_backward_kv_body<Mask, T, narrow_tile>::queries_of_tile;
    query_stats<A>* stats;  // of every query
    range_bounds* bounds;   // of every tile of queries; of each head where masks differ

    layout(detail::arena& a, detail::attention_shape const& s)
        : stats(a.take<query_stats<A>>(detail::amount(s.batch) * s.heads * s.queries)),
          bounds(a.take<range_bounds>(detail::amount(s.batch) *
                                      (detail::has_for_head<Mask> ? s.heads : 1) *
                                      divide_up(s.queries, tile))) {}
  };

  // One buffer, then fewer warps, where shared memory is small.
  template <class Grid, class Body>
  static void fit(Grid const& grid, Body& all) {
    int const buffers = all.buffers;
    while (shared_bytes(all) > grid.info().shared_bytes) {
      if (all.buffers > 1) {
        all.buffers = 1;
      } else if (all.warps > 1) {
        all.buffers = buffers;
        all.warps /= 2;
      } else {
        return;
      }
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
