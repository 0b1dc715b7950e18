// SPDX-License-Identifier: Apache-2.0
// Device backend of softmax_attention, streaming algorithm. The materialized algorithm is in
// device/materialized.hpp.
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
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Calls f(width) with the tile width for the shape, as a compile-time constant.
template <class T, class F>
void with_tile_width(attention_shape const& shape, bool needs_narrow_tile, F const& f) {
  if constexpr (sizeof(T) == 2) {
    index_t const channels = std::max(shape.channels, shape.values);
    if (!needs_narrow_tile && narrow_tile < channels && channels <= wide_tile)
      return f(std::integral_constant<int, wide_tile>{});
  }
  f(std::integral_constant<int, narrow_tile>{});
}

template <class Mask>
struct device_implementation<streaming_attention_op<Mask>> {
  template <class T, class Grid>
  static void plan(Grid const&, attention_shape const& shape, arena& memory) {
    (void)backward_layout<T>(memory, shape);
  }

  template <class Grid, class T, class State>
  static void forward(Grid const& grid, attention_forward<Mask, T, State> const& params,
                      workspace) {
    attention_shape const shape(params.in);
    with_tile_width<T>(shape, false, [&](auto width) {
      attention_forward_kernel<Mask, T, width> kernel{params.mask};
      kernel.scale = static_cast<State>(params.scale);
      kernel.in = params.in;
      kernel.y = params.y;
      if (params.saving) kernel.state = params.state;
      kernel.lengths = params.lengths;
      kernel.dropout = dropout_config::make(params.drop, shape.heads);
      kernel.warps = attention_tuning_of<T>(grid).forward_warps;
      while (kernel.warps > 1 && (kernel.queries_per_block() >= 2 * shape.queries ||
                                  shared_bytes(kernel) > grid.info().shared_bytes))
        kernel.warps /= 2;
      launch(grid, kernel, warp_threads * kernel.warps);
    });
  }

  template <class Grid, class T, class State>
  static void backward(Grid const& grid, attention_backward<Mask, T, State> const& params,
                       workspace workspace_memory) {
    auto const shape = params.shape();
    auto const& grads = params.grads;
    arena memory(workspace_memory);
    backward_layout<T> const layout(memory, shape);
    launch(grid,
           query_stats_kernel<T>{params.dy, params.y, params.state, params.lengths, layout.stats});
    bool const sums_dbias = shape.dbias.layout != dbias_layout::per_pair;
    if (grads.dk.data() != nullptr || grads.dv.data() != nullptr) backward_kv(grid, params, layout);
    if (grads.dq.data() != nullptr || (grads.dbias.data() != nullptr && !sums_dbias))
      backward_q(grid, params, layout, sums_dbias ? tensor4<T>() : grads.dbias);
    if (sums_dbias) backward_bias(grid, params, layout);
  }

 private:
  template <class T>
  struct backward_layout {
    using A = accumulator_t<T>;
    static constexpr int queries_per_tile =
        attention_backward_kv_kernel<Mask, T, narrow_tile>::queries_per_tile;
    query_stats<A>* stats;  // [batch, heads, queries]
    // [batch, query tiles]; [batch * heads, query tiles] if masks differ by head
    range_bounds* bounds;
    A* distance_sums;  // [batch, heads, partial sums], for a relative dbias

    backward_layout(arena& memory, attention_shape const& shape)
        : stats(memory.take<query_stats<A>>(amount(shape.batch) * shape.heads * shape.queries)),
          bounds(memory.take<range_bounds>(amount(shape.batch) *
                                           (has_for_head<Mask> ? shape.heads : 1) *
                                           divide_up(shape.queries, queries_per_tile))),
          distance_sums(
              memory.take<A>(shape.dbias.layout != dbias_layout::relative
                                 ? amount(0)
                                 : amount(shape.batch) * shape.heads *
                                       attention_backward_bias_kernel<Mask, T>::max_partial_sums(
                                           shape.queries, shape.keys))) {}
  };

  template <class Grid, class T, class State, class Layout>
  static void backward_kv(Grid const& grid, attention_backward<Mask, T, State> const& params,
                          Layout const& layout) {
    auto const shape = params.shape();
    query_bounds_kernel<Mask> bounds_kernel{params.mask, params.lengths};
    bounds_kernel.samples = shape.batch;
    bounds_kernel.heads = shape.heads;
    bounds_kernel.queries = shape.queries;
    bounds_kernel.keys = shape.keys;
    bounds_kernel.queries_per_tile = layout.queries_per_tile;
    bounds_kernel.bounds = layout.bounds;
    launch(grid, bounds_kernel);
    with_tile_width<T>(shape, params.drop.rate > 0, [&](auto width) {
      attention_tuning const tuning = attention_tuning_of<T>(grid);
      attention_backward_kv_kernel<Mask, T, width> kernel{params.mask};
      set_params(kernel, params, layout);
      kernel.bounds = layout.bounds;
      kernel.mode = params.mode;
      kernel.dk = params.grads.dk;
      kernel.dv = params.grads.dv;
      kernel.warps = tuning.backward_kv_warps;
      kernel.buffers = tuning.backward_buffers;
      fit_and_launch(grid, kernel, kernel, kernel.keys_per_block(), shape.keys);
    });
  }
  template <class Grid, class T, class State, class Layout>
  static void backward_q(Grid const& grid, attention_backward<Mask, T, State> const& params,
                         Layout const& layout, tensor4<T> dbias) {
    auto const shape = params.shape();
    with_tile_width<T>(shape, false, [&](auto width) {
      attention_tuning const tuning = attention_tuning_of<T>(grid);
      attention_backward_q_kernel<Mask, T, width> kernel{{params.mask}};
      set_params(kernel.tile, params, layout);
      kernel.dq = params.grads.dq;
      kernel.dbias = dbias;
      kernel.mode = params.mode;
      kernel.tile.computes_dbias = dbias.data() != nullptr;
      kernel.tile.warps = tuning.backward_q_warps;
      kernel.tile.buffers = tuning.backward_buffers;
      fit_and_launch(grid, kernel, kernel.tile, kernel.tile.queries_per_block(), shape.queries);
    });
  }
  // Computes a dbias that is relative or shared.
  template <class Grid, class T, class State, class Layout>
  static void backward_bias(Grid const& grid, attention_backward<Mask, T, State> const& params,
                            Layout const& layout) {
    auto const shape = params.shape();
    attention_backward_bias_kernel<Mask, T> kernel{{params.mask}};
    set_params(kernel.tile, params, layout);
    kernel.dbias = params.grads.dbias;
    kernel.mode = params.mode;
    kernel.reduction_shape = shape.dbias;
    kernel.distance_sums = layout.distance_sums;
    kernel.tile.computes_dbias = true;
    kernel.tile.warps = attention_tuning_of<T>(grid).backward_q_warps;
    kernel.tile.buffers = 1;
    fit_and_launch(grid, kernel, kernel.tile, kernel.tile.queries_per_block(), shape.queries);
    if (kernel.is_relative_bias())
      launch(grid, distance_sums_kernel<T>{shape, kernel.make_bands(), layout.distance_sums,
                                           params.grads.dbias, params.mode});
  }

  // Sets the members that all backward kernels share.
  template <class Kernel, class T, class State, class Layout>
  static void set_params(Kernel& kernel, attention_backward<Mask, T, State> const& params,
                         Layout const& layout) {
    kernel.scale = static_cast<State>(params.scale);
    kernel.in = params.in;
    kernel.dy = params.dy;
    kernel.stats = layout.stats;
    kernel.lengths = params.lengths;
    kernel.dropout = dropout_config::make(params.drop, params.in.q.extents().heads);
  }
  // Launches a kernel with at most the warps that `rows` rows need. If shared memory is too small,
  // tries one buffer, then fewer warps.
  template <class Grid, class Kernel, class Tile>
  static void fit_and_launch(Grid const& grid, Kernel const& kernel, Tile& tile, int rows_per_block,
                             index_t rows) {
    int const rows_per_warp = rows_per_block / tile.warps;
    while (tile.warps > 1 && tile.warps * rows_per_warp >= 2 * rows) tile.warps /= 2;
    int const buffers = tile.buffers;
    while ((tile.buffers > 1 || tile.warps > 1) &&
           shared_bytes(kernel) > grid.info().shared_bytes) {
      if (tile.buffers == 1) tile.warps /= 2;
      tile.buffers = tile.buffers > 1 ? 1 : buffers;
    }
    launch(grid, kernel, warp_threads * tile.warps);
  }
};

SLICESORT_DETAIL_END
