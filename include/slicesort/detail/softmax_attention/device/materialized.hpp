// SPDX-License-Identifier: Apache-2.0
// Attention that materializes the score matrix: matrix product (user-supplied or built in), row
// softmax, matrix product. Processes as many heads of a sample at a time as the workspace holds,
// and whole groups of heads that share a head of k and v.
#pragma once

#include <slicesort/detail/attention/device/bias_sums.hpp>
#include <slicesort/detail/attention/dropout.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/softmax_attention/device/gemm.hpp>
#include <slicesort/detail/softmax_attention/device/map_sums.hpp>
#include <slicesort/detail/softmax_attention/device/query_stats.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/device/softmax_rows.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class Mask>
struct device_implementation<materialized_attention_op<Mask>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, attention_shape const& shape, arena& memory) {
    (void)materialized_layout<T>(memory, grid, shape);
  }

  template <class Grid, class T, class State>
  static void forward(Grid const& grid, attention_forward<Mask, T, State> const& params,
                      workspace workspace_memory) {
    using A = accumulator_t<T>;
    attention_shape const shape(params.in);
    if (shape.queries == 0) return;
    arena memory(workspace_memory);
    materialized_layout<T> const layout(memory, grid, shape);
    auto const dropout = dropout_config::make(params.drop, shape.heads);
    for_each_head_chunk(shape, layout.heads, [&](head_chunk const& chunk) {
      head_gemm<T> const gemm{params.lengths, chunk, params.in, params.gemm};
      head_matrices<T> const dropped = chunk_matrices(layout.rounded_scores, chunk),
                             weights = params.saving ? matrices(params.state, chunk) : dropped;
      gemm.multiply(grid, A(1), matrices(params.in.q, chunk),
                    matrices(params.in.k, chunk).transposed(), chunk_matrices(layout.scores, chunk),
                    gemm.query_side(), gemm.key_side(), gemm.channel_side(), grad_mode::overwrite);
      softmax_rows_kernel<Mask, T> kernel{params.mask};
      kernel.scale = static_cast<A>(params.scale);
      kernel.chunk = chunk;
      kernel.scores = layout.scores;
      kernel.weights = weights;
      kernel.dropped = layout.rounded_scores;
      kernel.dropout = dropout;
      kernel.bias = params.in.bias;
      kernel.lengths = params.lengths;
      grid.run(kernel, chunk.blocks(), kernel.max_threads);
      gemm.multiply(grid, static_cast<A>(dropout.scale), dropout.is_enabled() ? dropped : weights,
                    matrices(params.in.v, chunk), matrices(params.y, chunk), gemm.query_side(),
                    gemm.value_side(), gemm.key_side(), grad_mode::overwrite);
    });
  }

  template <class Grid, class T, class State>
  static void backward(Grid const& grid, attention_backward<Mask, T, State> const& params,
                       workspace workspace_memory) {
    using A = accumulator_t<T>;
    auto const shape = params.shape();
    auto const& grads = params.grads;
    arena memory(workspace_memory);
    materialized_layout<T> const layout(memory, grid, shape);
    auto const scale = static_cast<A>(params.scale);
    auto const dropout = dropout_config::make(params.drop, shape.heads);
    bool const has_dbias = grads.dbias.data() != nullptr,
               writes_dbias_per_pair = has_dbias && shape.dbias.layout == dbias_layout::per_pair,
               needs_score_grads = grads.dq.data() != nullptr || grads.dk.data() != nullptr ||
                                   writes_dbias_per_pair;
    if (needs_score_grads || has_dbias)
      launch(grid, query_stats_kernel<T>{params.dy, params.y, {}, params.lengths, layout.stats});
    for_each_head_chunk(shape, layout.heads, [&](head_chunk const& chunk) {
      head_gemm<T> const gemm{params.lengths, chunk, params.in, params.gemm};
      auto const weights = matrices(params.state, chunk), dy = matrices(params.dy, chunk);
      if (grads.dv.data() != nullptr) {
        head_matrices<T const> kept_weights = weights;
        if (dropout.is_enabled() && shape.queries > 0) {
          grid.run(drop_rows_kernel<T>{chunk, weights, layout.rounded_scores, dropout},
                   chunk.blocks(), drop_rows_kernel<T>::max_threads);
          kept_weights = chunk_matrices(layout.rounded_scores, chunk);
        }
        gemm.multiply_and_sum(grid, static_cast<A>(dropout.scale), kept_weights.transposed(), dy,
                              matrices(grads.dv, chunk), gemm.key_side(), gemm.value_side(),
                              gemm.query_side(), params.mode);
      }
      if (!needs_score_grads && !has_dbias) return;
      if (shape.queries > 0) {
        gemm.multiply(grid, A(1), dy, matrices(params.in.v, chunk).transposed(),
                      chunk_matrices(layout.scores, chunk), gemm.query_side(), gemm.key_side(),
                      gemm.value_side(), grad_mode::overwrite);
        score_grad_reader<T> const reader{chunk, weights, layout.scores,
                                          layout.stats + chunk.flat_head(0) * shape.queries,
                                          dropout};
        if (shape.dbias.layout != dbias_layout::per_pair)
          add_score_grads(grid, params, shape, layout, reader);
        score_grad_rows_kernel<T> const kernel{reader, layout.rounded_scores,
                                               writes_dbias_per_pair ? grads.dbias : tensor4<T>(),
                                               params.mode};
        if (needs_score_grads) grid.run(kernel, chunk.blocks(), kernel.max_threads);
      }
      head_matrices<T const> const score_grads = chunk_matrices(layout.rounded_scores, chunk);
      if (grads.dq.data() != nullptr)
        gemm.multiply(grid, scale, score_grads, matrices(params.in.k, chunk),
                      matrices(grads.dq, chunk), gemm.query_side(), gemm.channel_side(),
                      gemm.key_side(), params.mode);
      if (grads.dk.data() != nullptr)
        gemm.multiply_and_sum(grid, scale, score_grads.transposed(), matrices(params.in.q, chunk),
                              matrices(grads.dk, chunk), gemm.key_side(), gemm.channel_side(),
                              gemm.query_side(), params.mode);
    });
    if (shape.dbias.layout == dbias_layout::relative)
      launch(grid,
             distance_sums_kernel<T>{
                 shape, {1, 1, shape.queries, shape.keys}, layout.sums, grads.dbias, params.mode});
    else if (shape.dbias.layout == dbias_layout::shared && shape.pairs() == 0)
      add_score_grads(grid, params, shape, layout, {empty_chunk(shape)});
  }

 private:
  template <class T>
  struct materialized_layout {
    using A = accumulator_t<T>;
    index_t heads;      // heads per chunk, in whole groups
    A* scores;          // [heads, queries, keys]
    T* rounded_scores;  // aliases `scores` if A is T
    query_stats<A>* stats;
    A* sums;  // shape of dbias if shared; [batch * heads, distances] if relative

    template <class Grid>
    materialized_layout(arena& memory, Grid const& grid, attention_shape const& shape) {
      index_t const elements_per_head = std::max<index_t>(shape.queries * shape.keys, 1);
      index_t const chunk_elements = grid_tuning_of<T>(grid).chunk_elements;
      index_t const group = shape.group();
      heads = std::clamp<index_t>(chunk_elements / elements_per_head / group * group, group,
                                  std::max<index_t>(shape.heads, 1));
      index_t const elements =
          shape.batch == 0 || shape.heads == 0 ? 0 : heads * shape.queries * shape.keys;
      scores = memory.take<A>(elements);
      if constexpr (std::is_same_v<T, A>)
        rounded_scores = scores;
      else
        rounded_scores = memory.take<T>(elements);
      stats = memory.take<query_stats<A>>(amount(shape.batch) * shape.heads * shape.queries);
      amount sum_elements = 0;
      if (shape.dbias.layout == dbias_layout::shared)
        sum_elements = amount(shape.dbias.groups()) * shape.queries * shape.keys;
      if (shape.dbias.layout == dbias_layout::relative)
        sum_elements = amount(shape.batch) * shape.heads * shape.distances();
      sums = memory.take<A>(sum_elements);
    }
  };

  // Accumulates the score gradients of a chunk of heads into a relative or shared dbias.
  template <class Grid, class T, class State>
  static void add_score_grads(Grid const& grid, attention_backward<Mask, T, State> const& params,
                              attention_shape const& shape, materialized_layout<T> const& layout,
                              score_grad_reader<T> const& reader) {
    if (shape.dbias.layout == dbias_layout::relative) {
      diagonal_sums_kernel<T> const sums{reader, layout.sums};
      return grid.run(sums, sums.blocks(), sums.max_threads);
    }
    shared_map_sums_kernel<T> sums{};
    sums.reader = reader;
    sums.sums = layout.sums;
    sums.dbias = params.grads.dbias;
    sums.mode = params.mode;
    sums.select_groups(shape);
    launch(grid, sums);
  }

  static head_chunk empty_chunk(attention_shape const& shape) {
    head_chunk chunk{};
    chunk.queries = shape.queries, chunk.keys = shape.keys, chunk.heads_per_sample = shape.heads;
    return chunk;
  }
  // Calls f(chunk) for chunks of at most `heads` heads of one sample.
  template <class F>
  static void for_each_head_chunk(attention_shape const& shape, index_t heads, F const& f) {
    for (index_t b = 0; b < shape.batch; ++b)
      for (index_t h = 0; h < shape.heads; h += heads) {
        head_chunk chunk = empty_chunk(shape);
        chunk.sample = b, chunk.first_head = h;
        chunk.heads = std::min(heads, shape.heads - h);
        f(chunk);
      }
  }

  template <class T>
  static head_matrices<T> matrices(tensor4<T> t, head_chunk const& chunk) {
    strides4 const strides = t.strides();
    head_index const head =
        kv_head_of({chunk.sample, chunk.first_head}, chunk.heads_per_sample, t.extents().heads);
    T* const data = t.data() == nullptr ? nullptr : head_data(t, head);
    return {data, strides.length, strides.channels, strides.heads};
  }
  template <class T>
  static head_matrices<T> chunk_matrices(T* data, head_chunk const& chunk) {
    return {data, chunk.keys, 1, chunk.queries * chunk.keys};
  }

  template <class T>
  struct head_gemm {
    attention_lengths lengths;
    head_chunk chunk;
    attention_inputs<T> in;
    gemm_callback blas;

    matrix_side query_side() const { return {axis_kind::queries, chunk.queries}; }
    matrix_side key_side() const { return {axis_kind::keys, chunk.keys}; }
    matrix_side channel_side() const { return {axis_kind::channels, in.q.extents().channels}; }
    matrix_side value_side() const { return {axis_kind::channels, in.v.extents().channels}; }

    // Multiplies a matrix of each query head by one of its head of k.
    template <class Grid, class Out>
    void multiply(Grid const& grid, accumulator_t<T> alpha, head_matrices<T const> a,
                  head_matrices<T const> b, head_matrices<Out> c, matrix_side rows,
                  matrix_side columns, matrix_side depth, grad_mode mode) const {
      auto kernel = kernel_of(alpha, a, b, c, rows, columns, depth, mode);
      kernel.heads_per_b = group();
      multiply_heads(grid, blas, kernel);
    }
    // Multiplies matrices of each query head, and sums the products for each head of k.
    template <class Grid, class Out>
    void multiply_and_sum(Grid const& grid, accumulator_t<T> alpha, head_matrices<T const> a,
                          head_matrices<T const> b, head_matrices<Out> c, matrix_side rows,
                          matrix_side columns, matrix_side depth, grad_mode mode) const {
      auto kernel = kernel_of(alpha, a, b, c, rows, columns, depth, mode);
      kernel.heads /= group();
      kernel.heads_per_sum = group();
      multiply_heads(grid, blas, kernel);
    }

   private:
    index_t group() const { return attention_sizes(in.q.extents(), in.v.extents()).group(); }
    template <class Out>
    multiply_heads_kernel<T, Out> kernel_of(accumulator_t<T> alpha, head_matrices<T const> a,
                                            head_matrices<T const> b, head_matrices<Out> c,
                                            matrix_side rows, matrix_side columns,
                                            matrix_side depth, grad_mode mode) const {
      multiply_heads_kernel<T, Out> kernel{};
      kernel.alpha = alpha;
      kernel.a = a, kernel.b = b, kernel.c = c;
      kernel.rows = rows, kernel.columns = columns, kernel.depth = depth;
      kernel.heads = chunk.heads;
      kernel.mode = mode;
      kernel.lengths = lengths;
      kernel.sample = chunk.sample;
      return kernel;
    }
  };
};

SLICESORT_DETAIL_END
