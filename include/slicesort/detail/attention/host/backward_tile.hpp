// SPDX-License-Identifier: Apache-2.0
// Steps of backward for a query tile and a block of keys: recompute the weights, accumulate the
// gradients.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/host/gathered_keys.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/scores.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Tensors that only backward uses.
template <class T>
struct attention_backward_tensors {
  tensor4<T const> dy, y;
  attention_gradients<T> grads;
  grad_mode mode;
  // [batch, heads, queries + keys - 1]: sums of dS, indexed by query - key + keys - 1. May be null.
  accumulator_t<T>* distance_sums = nullptr;

  bool needs_score_grads() const {
    return grads.dq.data() != nullptr || grads.dk.data() != nullptr ||
           grads.dbias.data() != nullptr || distance_sums != nullptr;
  }
  bool needs_head_pass() const { return needs_score_grads() || grads.dv.data() != nullptr; }
};

// Operands and gradient sums of a query tile.
template <class A>
struct attention_query_tile {
  A *queries, *dy;                        // [lane][channel]
  A *queries_transposed, *dy_transposed;  // [channel][lane]
  A* dqueries;                            // [channel][lane]
  A *row_max, *inv_sum, *delta;           // [lane]
  attention_ranges* ranges;

  attention_query_tile() = default;
  attention_query_tile(arena& memory, attention_shape shape) {
    constexpr index_t lanes = tile_queries;
    amount const q = padded_columns(shape.channels), v = padded_columns(shape.values);
    queries = memory.take<A>(lanes * q), dy = memory.take<A>(lanes * v);
    queries_transposed = memory.take<A>(q * lanes), dy_transposed = memory.take<A>(v * lanes);
    dqueries = memory.take<A>(q * lanes);
    row_max = memory.take<A>(lanes), inv_sum = memory.take<A>(lanes), delta = memory.take<A>(lanes);
    ranges = memory.take<attention_ranges>(1);
  }
};

// Packed keys and values, and the sums of their gradients: [key][channel].
template <class A>
struct attention_kv_rows {
  A *keys, *values, *dkeys, *dvalues;
  index_t rows;       // a multiple of product_rows
  index_t first = 0;  // key index of row 0, if the keys are consecutive

  attention_kv_rows() = default;
  attention_kv_rows(arena& memory, attention_shape shape, index_t max_rows) {
    amount const q = padded_columns(shape.channels), v = padded_columns(shape.values);
    rows = padded_rows(max_rows);
    keys = memory.take<A>(rows * q), values = memory.take<A>(rows * v);
    dkeys = memory.take<A>(rows * q), dvalues = memory.take<A>(rows * v);
  }
};

template <class A>
struct attention_backward_scratch {
  A *rows, *y_transposed;  // [lane][channel], [channel][lane]
  A *products, *scale;     // [key][lane]: <dy, v>, later dS; [lane]: the scale of the scores
  attention_scratch<A> scores;

  attention_backward_scratch(arena& memory, attention_shape shape) : scores(memory) {
    constexpr index_t lanes = tile_queries;
    rows = memory.take<A>(amount(lanes) * padded_columns(std::max(shape.channels, shape.values)));
    y_transposed = memory.take<A>(amount(padded_columns(shape.values)) * lanes);
    products = memory.take<A>(lanes * tile_keys), scale = memory.take<A>(lanes);
  }
};

template <class T>
class attention_backward_steps {
  using A = accumulator_t<T>;
  using query_tile = attention_query_tile<A>;
  using kv_rows = attention_kv_rows<A>;

 public:
  attention_backward_steps(attention_config const& config, attention_kernels<T> const& kernels,
                           attention_inputs<T> const& in, tensor4<A const> state,
                           attention_backward_tensors<T> const& out,
                           attention_backward_scratch<A> const& scratch, index_t flat_head)
      : config_(config),
        kernels_(kernels),
        in_(in),
        state_(state),
        out_(out),
        scratch_(scratch),
        shape_(attention_shape(in)),
        head_(config.lengths, shape_, flat_head),
        io_(kernels) {
    std::fill_n(scratch_.scale, tile_queries, config_.template scale_of<A>(head_));
  }

  attention_shape const& shape() const { return shape_; }
  attention_head const& head() const { return head_; }
  row_access<T> const& io() const { return io_; }
  index_t key_pitch() const { return padded_columns(shape_.channels); }
  index_t value_pitch() const { return padded_columns(shape_.values); }
  int valid_queries(index_t query) const {
    return static_cast<int>(std::clamp<index_t>(head_.queries - query, 0, tile_queries));
  }

  // Loads keys and values with load(tensor, out, pitch) and packs them. Uses the memory of dK as
  // scratch.
  template <class Load>
  void load_and_pack_kv(kv_rows const& kv, Load const& load) const {
    index_t const q_pitch = key_pitch(), v_pitch = value_pitch();
    A* const unpacked_keys = kernels_.uses_native_products() ? kv.dkeys : kv.keys;
    load(in_.k, unpacked_keys, q_pitch);
    if (kernels_.uses_native_products()) {
      kernels_.pack_bf16_columns(unpacked_keys, kv.rows * q_pitch, kv.keys);
      kernels_.pack_bf16_rows(unpacked_keys, q_pitch, kv.rows, keys_for_sums(kv));
    }
    load(in_.v, kv.values, v_pitch);
    kernels_.pack_columns(kv.values, kv.rows * v_pitch);
  }

  void begin_tile(query_tile const& tile, index_t query, int count) const {
    constexpr int lanes = tile_queries;
    index_t const q_pitch = key_pitch(), v_pitch = value_pitch();
    io_.load(head_, in_.q, query, count, tile.queries, q_pitch, lanes);
    kernels_.rows_to_lanes(tile.queries, q_pitch, shape_.channels, tile.queries_transposed);
    io_.load(head_, out_.dy, query, count, tile.dy, v_pitch, lanes);
    kernels_.rows_to_lanes(tile.dy, v_pitch, shape_.values, tile.dy_transposed);
    if (config_.weights.are_softmax()) load_softmax(tile, query, count);
    kernels_.pack_rows(tile.queries, q_pitch, lanes);
    kernels_.pack_rows(tile.queries_transposed, lanes, shape_.channels);
    kernels_.pack_rows(tile.dy, v_pitch, lanes);
    kernels_.pack_rows(tile.dy_transposed, lanes, shape_.values);
    std::fill_n(tile.dqueries, q_pitch * lanes, A(0));
    tile.ranges->evaluate(config_.mask, head_, query, count);
  }

  // Computes the scores for consecutive keys or for a segment of gathered keys.
  void compute_scores(query_tile const& tile, kv_rows const& kv, index_t query, int count,
                      key_range visible) const {
    index_t const packed_pitch = kernels_.packed_width(key_pitch());
    int const keys = static_cast<int>(visible.last - visible.first);
    kernels_.multiply(
        scratch_.scores.score_product(kernels_, config_.template scale_of<A>(head_), in_.bias, {},
                                      keys, kv.keys + (visible.first - kv.first) * packed_pitch,
                                      packed_pitch, tile.queries_transposed, shape_.channels));
    scratch_.scores.add_bias_and_mask(kernels_, config_, *tile.ranges, head_, in_.bias,
                                      {query, count, visible.first, keys});
  }
  void compute_scores(query_tile const& tile, kv_rows const& kv, index_t query, int count,
                      gathered_keys const& gathered, gathered_segment segment) const {
    index_t const packed_pitch = kernels_.packed_width(key_pitch());
    kernels_.multiply(scratch_.scores.score_product(
        kernels_, config_.template scale_of<A>(head_), in_.bias, segment.lanes, segment.keys,
        kv.keys + segment.first * packed_pitch, packed_pitch, tile.queries_transposed,
        shape_.channels));
    scratch_.scores.add_bias_and_mask(kernels_, config_, gathered, segment, head_, in_.bias, query,
                                      count);
  }

  std::uint64_t const* compute_keep_mask(index_t query, index_t key, int rows) const {
    return scratch_.scores.compute_keep_mask(kernels_, config_, head_, query, key, nullptr, rows);
  }
  std::uint64_t const* compute_keep_mask(index_t query, gathered_keys const& gathered,
                                         gathered_segment segment) const {
    return scratch_.scores.compute_keep_mask(kernels_, config_, head_, query, 0,
                                             gathered.keys + segment.first, segment.keys);
  }

  // Turns scores into P and computes dS = P * (dP - D), or f'(S) * dP of a pointwise function f.
  // Sets dropped weights of P to 0.
  void compute_score_grads(query_tile const& tile, kv_rows const& kv, lane_range lanes,
                           index_t first, int keys, std::uint64_t const* keep) const {
    index_t const packed_pitch = kernels_.packed_width(value_pitch());
    if (out_.needs_score_grads()) {
      // [keys, channels] x [channels, queries] -> [keys, queries]
      strided_rows<A> const values{kv.values + first * packed_pitch, packed_pitch, 1};
      pitched_rows<A const> const dy{tile.dy_transposed + lanes.first, tile_queries};
      pitched_rows<A> const dweights{scratch_.products + lanes.first, tile_queries};
      kernels_.multiply({values,
                         dy,
                         dweights,
                         {static_cast<int>(padded_rows(keys)), lanes.count(),
                          kernels_.packed_width(shape_.values)}});
    }
    if (!config_.weights.are_softmax())
      return kernels_.weigh_scores({scratch_.scores.scores,
                                    out_.needs_score_grads() ? scratch_.products : nullptr, keys,
                                    config_.weights, lanes});
    score_grad_params<A> params{
        scratch_.scores.scores, scratch_.products, keys, {tile.row_max, tile.inv_sum, tile.delta}};
    params.dropout = {keep, static_cast<A>(config_.dropout.scale)};
    params.lanes = lanes;
    kernels_.compute_score_grads(params);
  }

  // Adds P^T dO to dV, dS K to dQ and dS^T Q to dK. Overwrites P and dS.
  void add_gradients(query_tile const& tile, kv_rows const& kv, lane_range lanes, int count,
                     index_t first, int keys) const {
    constexpr int pitch = tile_queries;
    index_t const q_pitch = key_pitch(), v_pitch = value_pitch(),
                  packed_pitch = kernels_.packed_width(pitch);
    int const rows = static_cast<int>(padded_rows(keys)), first_lane = lanes.first;
    index_t const depth = kernels_.packed_width(std::min(lanes.last, count) - first_lane);
    typename product_params<A>::epilogue_params const add{true, nullptr, A(1)};
    A *const weights = scratch_.scores.scores, *score_grads_for_sums = scratch_.products;
    if (kernels_.uses_native_products()) {  // segments span all lanes
      kernels_.pack_bf16_columns(weights, index_t{rows} * pitch, weights);
      score_grads_for_sums =
          weights + rows * packed_pitch;  // second half of the tile, which is free
      kernels_.pack_bf16_rows(scratch_.products, pitch, keys, score_grads_for_sums);
      kernels_.pack_bf16_columns(scratch_.products, index_t{rows} * pitch, scratch_.products);
    }
    if (out_.grads.dv.data() != nullptr) {  // [keys, queries] x [queries, channels]
      strided_rows<A> const kept_weights{weights + first_lane, packed_pitch, 1};
      pitched_rows<A const> const dy{tile.dy + first_lane * v_pitch, v_pitch};
      pitched_rows<A> const dv{kv.dvalues + first * v_pitch, v_pitch};
      kernels_.multiply({kept_weights, dy, dv, {rows, static_cast<int>(v_pitch), depth}, add});
    }
    if (out_.grads.dq.data() != nullptr) {  // [channels, keys] x [keys, queries]
      strided_rows<A> const transposed_keys{
          keys_for_sums(kv) + kernels_.packed_width(first) * q_pitch, 1, q_pitch};
      pitched_rows<A const> const score_grads{score_grads_for_sums + first_lane, pitch};
      pitched_rows<A> const dq{tile.dqueries + first_lane, pitch};
      kernels_.multiply({transposed_keys,
                         score_grads,
                         dq,
                         {static_cast<int>(padded_rows(shape_.channels)), lanes.count(),
                          kernels_.packed_width(keys)},
                         add});
    }
    if (out_.grads.dk.data() != nullptr) {  // [keys, queries] x [queries, channels]
      strided_rows<A> const score_grads{scratch_.products + first_lane, packed_pitch, 1};
      pitched_rows<A const> const queries{tile.queries + first_lane * q_pitch, q_pitch};
      pitched_rows<A> const dk{kv.dkeys + first * q_pitch, q_pitch};
      kernels_.multiply({score_grads, queries, dk, {rows, static_cast<int>(q_pitch), depth}, add});
    }
  }

  void store_dq(query_tile const& tile, index_t query, int count) const {
    if (out_.grads.dq.data() == nullptr) return;
    kernels_.lanes_to_rows(tile.dqueries, shape_.channels, scratch_.scale, scratch_.rows,
                           key_pitch());
    io_.store(scratch_.rows, key_pitch(), head_, out_.grads.dq, query, count, out_.mode);
  }
  // Stores or accumulates dS for `keys` keys from `first` on. Its rows in the tile begin at `row`.
  void store_dbias(index_t query, lane_range lanes, int row, index_t first, index_t keys) const {
    if (out_.distance_sums != nullptr)
      add_score_grads(lanes, row, static_cast<int>(keys),
                      distance_sums() + query - first + shape_.keys - 1, -1);
    if (out_.grads.dbias.data() == nullptr) return;
    A query_score_grads[tile_keys];
    index_t const key_stride = out_.grads.dbias.strides().channels;
    A const* const score_grads = scratch_.products + row * tile_queries;
    for (int i = lanes.first; i < lanes.last; ++i) {
      for (index_t j = 0; j < keys; ++j) query_score_grads[j] = score_grads[j * tile_queries + i];
      io_.store(query_score_grads, 0, 1, keys,
                head_.at(out_.grads.dbias, query + i) + first * key_stride, 0, key_stride,
                out_.mode);
    }
  }
  void clear_distance_sums() const {
    if (out_.distance_sums != nullptr) std::fill_n(distance_sums(), shape_.distances(), A(0));
  }
  // Adds rows of dS to rows of `out`, or to its diagonals if pitch is -1.
  void add_score_grads(lane_range lanes, int row, int rows, A* out, index_t pitch) const {
    kernels_.add_rows({scratch_.products + row * tile_queries, rows, out, pitch, lanes});
  }
  void clear_dbias(index_t query, int count, index_t first, index_t last) const {
    tensor4<T> const dbias = out_.grads.dbias;
    if (dbias.data() == nullptr || out_.mode == grad_mode::accumulate) return;
    for (int i = 0; i < count; ++i)
      for (index_t j = first; j < last; ++j)
        head_.at(dbias, query + i)[j * dbias.strides().channels] = T(0.0F);
  }
  // Clears the gradients of queries past the length.
  void clear_padding_queries() const {
    io_.clear(head_, out_.grads.dq, head_.queries, shape_.queries, out_.mode);
    io_.clear(head_, out_.grads.dbias, head_.queries, shape_.queries, out_.mode);
  }
  // Stores the gradients of keys and values, and clears those past the length.
  void store_kv_grads(A* dkeys, A* dvalues) const {
    if (out_.grads.dk.data() != nullptr) {
      index_t const elements = padded_rows(head_.keys) * key_pitch();
      for (index_t i = 0; i < elements; ++i) dkeys[i] *= scratch_.scale[0];
      io_.store(dkeys, key_pitch(), head_, out_.grads.dk, 0, head_.keys, out_.mode);
    }
    if (out_.grads.dv.data() != nullptr) {
      if (config_.dropout.is_enabled()) {
        auto const scale = static_cast<A>(config_.dropout.scale);
        index_t const elements = padded_rows(head_.keys) * value_pitch();
        for (index_t i = 0; i < elements; ++i) dvalues[i] *= scale;
      }
      io_.store(dvalues, value_pitch(), head_, out_.grads.dv, 0, head_.keys, out_.mode);
    }
    io_.clear(head_, out_.grads.dk, head_.keys, shape_.keys, out_.mode);
    io_.clear(head_, out_.grads.dv, head_.keys, shape_.keys, out_.mode);
  }

 private:
  // Loads the statistics of the softmax, and computes D. Requires dy_transposed, not yet packed.
  void load_softmax(query_tile const& tile, index_t query, int count) const {
    io_.load(head_, out_.y, query, count, scratch_.rows, value_pitch(), tile_queries);
    kernels_.rows_to_lanes(scratch_.rows, value_pitch(), shape_.values, scratch_.y_transposed);
    kernels_.dot_rows(tile.dy_transposed, scratch_.y_transposed, shape_.values, tile.delta);
    for (int i = 0; i < tile_queries; ++i) {
      row_statistics<A> saved{A(0), A(0)};
      if (i < count) saved = load_statistics(state_, {head_.sample, head_.head}, query + i);
      tile.row_max[i] = saved.max;
      tile.inv_sum[i] = inverse_sum(saved.sum);
    }
  }
  A* distance_sums() const { return out_.distance_sums + head_.pair * shape_.distances(); }
  // Keys packed for products over keys; kv.keys are packed for products over channels. Exact
  // products use the same buffer for both; bfloat16 pairs use half of it for each.
  A* keys_for_sums(kv_rows const& kv) const {
    return kernels_.uses_native_products() ? kv.keys + kv.rows * kernels_.packed_width(key_pitch())
                                           : kv.keys;
  }

  attention_config const& config_;
  attention_kernels<T> const& kernels_;
  attention_inputs<T> const& in_;
  tensor4<A const> const state_;
  attention_backward_tensors<T> const& out_;
  attention_backward_scratch<A> const& scratch_;
  attention_shape const shape_;
  attention_head const head_;
  row_access<T> const io_;
};

SLICESORT_DETAIL_END
