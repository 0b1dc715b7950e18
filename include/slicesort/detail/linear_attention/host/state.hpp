// SPDX-License-Identifier: Apache-2.0
// Per-head state of linear_attention on the host, and the steps that both directions share.
#pragma once

#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/linear_attention/host/erased_feature.hpp>
#include <slicesort/detail/linear_attention/host/features.hpp>
#include <slicesort/detail/linear_attention/host/memory.hpp>
#include <slicesort/detail/linear_attention/host/simd_table.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <optional>

SLICESORT_DETAIL_BEGIN

// Data shared by all tasks of a call.
template <class T>
struct linear_context {
  linear_attention_kernels<T> const& kernels;
  linear_attention_shape const& shape;
  linear_attention_inputs<T> const& in;
  attention_lengths const& lengths;
  divisor_config divisor;
  erased_feature<accumulator_t<T>> const& custom_feature;
  linear_position const* positions;  // [sample]; null if the call has no states
  // Null if the call has no such state.
  tensor4<accumulator_t<T> const> initial{}, dlast{};
  tensor4<accumulator_t<T>> last{}, dinitial{};

  template <class Params>
  linear_context(linear_attention_kernels<T> const& simd_kernels, Params const& params,
                 linear_attention_shape const& params_shape,
                 erased_feature<accumulator_t<T>> const& feature,
                 linear_position const* sample_positions)
      : kernels(simd_kernels),
        shape(params_shape),
        in(params.in),
        lengths(params.lengths),
        divisor(params.divisor),
        custom_feature(feature),
        positions(sample_positions),
        initial(params.states.initial) {
    if constexpr (Params::is_forward) {
      last = params.states.last;
    } else {
      dlast = params.states.dlast;
      dinitial = params.states.dinitial;
    }
  }
};

// State of a task for one head of k and the query heads that share it, in order: views, workspace
// and SIMD kernels.
template <class T>
class linear_task {
 public:
  using A = accumulator_t<T>;
  static constexpr int tile = linear_tile;

  linear_task(linear_context<T> const& call_context, linear_task_memory<A> const& task_memory,
              index_t first_pair, index_t query_head_count)
      : context(call_context),
        kernels(context.kernels),
        io(context.kernels),
        shape(context.shape),
        in(context.in),
        width(context.shape),
        memory(task_memory),
        divisor(context.divisor),
        query_heads(query_head_count),
        head(context.lengths, context.shape, first_pair),
        position(context.positions == nullptr ? linear_position{} : context.positions[head.sample]),
        features(context.kernels, context.shape, context.custom_feature, memory.w, head, position) {
    index_t const ones = std::max<index_t>(tile, width.w);
    std::fill(memory.queries.ones, memory.queries.ones + ones, A(1));
    std::fill(memory.keys.ones, memory.keys.ones + ones, A(1));
    memory.key_sums.clear(width);
    features.load_w(in.w);
  }

  linear_context<T> const& context;
  linear_attention_kernels<T> const& kernels;
  row_access<T> const io;
  linear_attention_shape const& shape;
  linear_attention_inputs<T> const& in;
  linear_widths const width;
  linear_task_memory<A> const memory;
  divisor_config const divisor;
  index_t const query_heads;
  attention_head head;             // the query head that is computed, at first the task's first one
  linear_position const position;  // of the first row in its sequence
  tile_features<T> const features;

  // Calls f(index) for each query head.
  template <class F>
  void for_each_query_head(F const& f) {
    attention_head const first = head;
    for (index_t h = 0; h < query_heads; ++h) {
      head.pair = first.pair + h, head.head = first.head + h;
      f(h);
    }
    head = first;
  }

  static int rows_of_tile(index_t first, index_t valid, int max_rows = tile) {
    return static_cast<int>(std::clamp<index_t>(valid - first, 0, max_rows));
  }
  bool has_maximum() const { return shape.feature.has_maximum(); }
  // Computes the features of a tile. set_maxima() computes the maxima of random_exp.
  template <class SetMaxima>
  void map_rows(feature_memory<A> const& features_memory, tensor4<T const> x, index_t first,
                int rows, bool needs_slopes, SetMaxima const& set_maxima) const {
    if (!has_maximum()) return features.load_and_map(features_memory, x, first, rows, needs_slopes);
    features.load(features_memory, x, first, rows);
    set_maxima();
    features.map(features_memory, first, rows, needs_slopes);
  }
  void map_queries(index_t first, int rows, bool needs_slopes) const {
    map_rows(memory.queries, in.q, first, rows, needs_slopes,
             [&] { features.compute_maxima(memory.queries, rows); });
  }
  // Loads values and appends zero rows up to `padded`.
  pitched_rows<A const> load_values(index_t first, int rows, int padded) const {
    io.load(head, in.v, first, rows, memory.values, width.values, padded);
    return {memory.values, width.values};
  }
  void scale_rows(pitched_rows<A const> from, int rows, A const* factors, A* to) const {
    kernels.scale_rows({from, {rows, from.pitch}, factors, {to, from.pitch}});
  }
  // Adds factors[i] times row i of `addend` to row i of `sums`. A pitch of 0 repeats one row.
  void add_scaled_rows(pitched_rows<A const> addend, int rows, A const* factors, A* sums) const {
    kernels.add_scaled_rows({addend, {rows, width.features}, factors, {sums, width.features}});
  }
  // Computes g = dy / divisor of the queries of a tile.
  void load_scaled_dy(tensor4<T const> dy, index_t first, int rows) const {
    int const padded = static_cast<int>(padded_rows(rows));
    io.load(head, dy, first, rows, memory.scaled_dy, width.values, padded);
    scale_rows({memory.scaled_dy, width.values}, rows, memory.inverse_divisors, memory.scaled_dy);
  }

  void multiply(product_params<A> const& product) const {
    if (product.size.rows > 0 && product.size.columns > 0) kernels.multiply(product);
  }
  // c = a b, where a and c have one row per row of the tile.
  void multiply_rows(pitched_rows<A const> a, index_t depth, pitched_rows<A const> b, A* c,
                     index_t columns, int rows) const {
    multiply({{a.data, a.pitch, 1},
              b,
              {c, columns},
              {static_cast<int>(padded_rows(rows)), static_cast<int>(columns), depth}});
  }
  // out = phi * sums, [rows, features] -> [rows, values].
  void multiply_by_sums(A const* phi, linear_sums<A> const& sums, A* out, int rows) const {
    multiply_rows({phi, width.features}, shape.feature.count, {sums.matrix, width.values}, out,
                  width.values, rows);
  }
  // out = values * sums^T, [rows, values] -> [rows, features].
  void multiply_by_transposed(A const* values, linear_sums<A> const& sums, A* out, int rows) const {
    multiply_rows({values, width.values}, shape.values, {sums.transposed, width.features}, out,
                  width.features, rows);
  }
  // Adds the rows of a tile: matrix = matrix * decay + lhs^T rhs and
  // row = row * decay + lhs^T weights.
  void add_tile(linear_sums<A> const& sums, A const* lhs, pitched_rows<A const> rhs,
                A const* weights, int rows, A decay) const {
    product_params<A> product{
        {lhs, 1, width.features},
        rhs,
        {sums.matrix, width.values},
        {static_cast<int>(padded_rows(shape.feature.count)), static_cast<int>(width.values), rows}};
    product.epilogue.separate_sum = true;
    product.epilogue.c_scale = decay;
    multiply(product);
    kernels.add_column_sums(
        {{lhs, width.features}, {rows, width.features}, weights, sums.row, decay});
  }
  void transpose(linear_sums<A> const& sums) const {
    kernels.transpose(sums.matrix, width.values, width.features, width.values, sums.transposed,
                      width.features);
  }

  // Computes <phi, Z> of each query. A pitch of 0 uses the same Z for all queries.
  void dot_features(A const* phi, A const* z, index_t z_pitch, int rows, A* dots) const {
    kernels.compute_row_dots({{phi, width.features}, {z, z_pitch}, {rows, width.features}, dots});
  }
  // Computes <phi, dphi> of each query into memory.weight_sums, with dphi = S g.
  void dot_with_gradient(A const* phi, A* gradient, int rows) const {
    clear_padding<A>({gradient, width.features}, shape.feature.count, rows);
    dot_features(phi, gradient, width.features, rows, memory.weight_sums);
  }
  // Evaluates the divisors of memory.weight_sums. Stores 1 / D(d) to memory.inverse_divisors, and
  // D'(d) / D(d) to `slopes`.
  void evaluate_divisors(int rows, A* slopes) const {
    library_arithmetic<A> const ops;
    for (int i = 0; i < rows; ++i) {
      auto const terms = evaluate_divisor(ops, divisor, memory.weight_sums[i]);
      memory.inverse_divisors[i] = terms.inverse;
      slopes[i] = terms.slope;
    }
  }
  void store_results(tensor4<T> out, index_t first, int rows, grad_mode mode) const {
    io.store(memory.results, width.values, head, out, first, rows, mode);
  }
  // Clears the padding rows of a tensor with the heads of q.
  void clear_query_padding(tensor4<T> tensor, grad_mode mode) {
    for_each_query_head(
        [&](index_t) { io.clear(head, tensor, head.queries, shape.queries, mode); });
  }
  // Divides the sums of a tile's queries and stores them to y.
  void store_divided(tensor4<T> y, index_t first, int rows) const {
    if (y.extents().channels == 0) return;
    T* const to = head.at(y, first);
    auto const store = should_stream_rows(y, to, y.extents().channels) ? kernels.store_scaled_around
                                                                       : kernels.store_scaled;
    if (y.strides().channels == 1)
      return store(memory.results, width.values, rows, y.extents().channels,
                   memory.inverse_divisors, to, y.strides().length);
    scale_rows({memory.results, width.values}, rows, memory.inverse_divisors, memory.results);
    store_results(y, first, rows, grad_mode::overwrite);
  }
};

// Heads of one sample whose tiles are interleaved, and the passes of forward and backward over
// them. All heads have the same number of rows, because lengths are per sample.
template <class Task>
class interleaved_heads {
 public:
  template <class... Arguments>
  void add(Arguments const&... arguments) {
    tasks_[count_++].emplace(arguments...);
  }
  Task const& first() const { return *tasks_[0]; }

  template <class T>
  void forward(tensor4<T> y) {
    Task::sum_keys(*this);
    for_each_tile(first().head.queries,
                  [&](Task& task, index_t row) { task.compute_outputs(y, row); });
    for_each([&](Task& task) {
      task.finish_outputs();
      task.clear_query_padding(y, grad_mode::overwrite);
    });
  }
  template <class T>
  void backward(tensor4<T const> dy, linear_attention_gradients<T> const& grads, grad_mode mode) {
    attention_head const& head = first().head;
    Task::sum_keys(*this);
    for_each([](Task& task) { task.clear_query_sums(); });
    for_each_tile(Task::causal ? head.max_length() : head.queries, [&](Task& task, index_t row) {
      task.compute_query_gradients(dy, grads, mode, row);
    });
    auto const compute_key_gradients = [&](Task& task, index_t row) {
      task.compute_key_gradients(dy, grads, mode, row);
    };
    if constexpr (Task::causal) {
      for_each_tile_reversed(head.max_length(), compute_key_gradients);
    } else {
      for_each([](Task& task) { task.transpose(task.memory.query_sums); });
      for_each_tile(head.keys, compute_key_gradients);
    }
    // Clears padding rows.
    for_each([&](Task& task) {
      task.store_state_gradients();
      task.clear_query_padding(grads.dq, mode);
      task.io.clear(task.head, grads.dk, head.keys, task.shape.keys, mode);
      task.io.clear(task.head, grads.dv, head.keys, task.shape.keys, mode);
    });
  }

  template <class F>
  void for_each(F const& f) {
    for (int h = 0; h < count_; ++h) f(*tasks_[h]);
  }
  // Calls f(task, row) with the first row of every tile, for every head. `_reversed` starts at the
  // last tile.
  template <class F>
  void for_each_tile(index_t rows, F const& f) {
    index_t next = linear_tile - first().position.rows;
    for (index_t row = 0; row < rows; row = next, next += linear_tile)
      for_each([&](Task& task) { f(task, row); });
  }
  template <class F>
  void for_each_tile_reversed(index_t rows, F const& f) {
    constexpr int tile = linear_tile;
    int const offset = first().position.rows;
    if (rows == 0) return;
    for (index_t row = (rows + offset + tile - 1) / tile * tile - offset; row > 0;) {
      row = std::max<index_t>(row - tile, 0);
      for_each([&](Task& task) { f(task, row); });
    }
  }

 private:
  std::optional<Task> tasks_[max_heads_per_task];
  int count_ = 0;
};

SLICESORT_DETAIL_END
