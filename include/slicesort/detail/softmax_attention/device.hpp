// SPDX-License-Identifier: Apache-2.0
// Device backend of softmax_attention, streaming algorithm. The materialized algorithm is in
// device/materialized.hpp.
#pragma once

#include <slicesort/detail/attention/device/launch.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/dropout.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/softmax_attention/device/materialized.hpp>
#include <slicesort/detail/softmax_attention/device/query_stats.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class Mask>
struct device_implementation<streaming_attention_op<Mask>> {
  template <class T, class Grid>
  static void plan(Grid const&, attention_shape const& shape, arena& memory) {
    (void)backward_layout<T>(memory, shape);
  }

  template <class Grid, class T, class State>
  static void forward(Grid const& grid, attention_forward<Mask, T, State> const& params,
                      workspace) {
    softmax_forward<T> weights;
    if (params.saving) weights.state = params.state;
    weights.dropout = dropout_config::make(params.drop, params.in.q.extents().heads);
    launch_attention_forward(grid, weights, params);
  }

  template <class Grid, class T, class State>
  static void backward(Grid const& grid, attention_backward<Mask, T, State> const& params,
                       workspace workspace_memory) {
    arena memory(workspace_memory);
    backward_layout<T> const layout(memory, params.shape());
    launch(grid,
           query_stats_kernel<T>{params.dy, params.y, params.state, params.lengths, layout.stats});
    softmax_backward<T> const weights{
        layout.stats, dropout_config::make(params.drop, params.in.q.extents().heads)};
    launch_attention_backward(grid, weights, params, layout.kernels);
  }

 private:
  template <class T>
  struct backward_layout {
    query_stats<accumulator_t<T>>* stats;  // [batch, heads, queries]
    attention_backward_layout<softmax_backward<T>, Mask> kernels;

    backward_layout(arena& memory, attention_shape const& shape)
        : stats(memory.take<query_stats<accumulator_t<T>>>(amount(shape.batch) * shape.heads *
                                                           shape.queries)),
          kernels(memory, shape) {}
  };
};

SLICESORT_DETAIL_END
