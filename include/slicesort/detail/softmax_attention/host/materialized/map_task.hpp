// SPDX-License-Identifier: Apache-2.0
// Materialized attention of one head: computes the score matrix Q K^T, applies softmax to each row,
// and multiplies by V. Forward processes the score matrix in slabs of a few megabytes.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/host/backward_tile.hpp>
#include <slicesort/detail/attention/host/bias_sums.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/scores.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/host/matrix_product.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/softmax_attention/host/materialized/layout.hpp>
#include <slicesort/detail/softmax_attention/host/materialized/products.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T>
class attention_map_task : attention_map_products<T> {
  using base = attention_map_products<T>;
  using base::apply_dropout, base::multiply_into_sums, base::multiply_into_rows,
      base::matrix_of_valid_rows, base::sums_are_elements;
  using base::config_, base::kernels_, base::in_, base::memory_, base::shape_, base::head_,
      base::io_;
  using typename base::A, typename base::matrix, typename base::product_size;

 public:
  using base::base;

  void forward(tensor4<T> y, tensor4<T> state) const {
    index_t const max_rows = slab_rows();
    for (index_t query = 0; query < head_.queries; query += max_rows)
      compute_rows(query, std::min(max_rows, head_.queries - query), y, state);
    io_.clear(head_, y, head_.queries, shape_.queries, grad_mode::overwrite);
    if (state.data() != nullptr)
      io_.clear(head_, state, head_.queries, shape_.queries, grad_mode::overwrite);
  }

  // Adds the score gradients of a query tile to `total`.
  void add_score_grads(tensor4<T const> state, attention_backward_tensors<T> const& out,
                       index_t query, shared_sums<A>& total) const {
    index_t const keys = head_.keys,
                  count = std::clamp<index_t>(head_.queries - query, 0, tile_queries);
    if (count == 0) return;
    total.extend_to(static_cast<int>(count), keys);
    multiply_into_sums(memory_.scores, shape_.keys, 1, grad_mode::overwrite,
                       {count, keys, shape_.values}, matrix_of_valid_rows(out.dy, query),
                       matrix_of_valid_rows(in_.v).transposed());
    compute_score_grads(state, out, query, memory_.scores);
    for (index_t j = 0; j < keys; ++j)
      for (index_t i = 0; i < count; ++i)
        total.sums[j * tile_queries + i] += memory_.scores[i * shape_.keys + j];
  }

  // Computes the gradients of a query head. Those of k and v are summed over the group of heads
  // that share them: the first one overwrites `sums`, the last one stores the results.
  void backward(tensor4<T const> state, attention_backward_tensors<T> const& out,
                attention_kv_sums<A> const& sums, bool is_first, bool is_last) const {
    index_t const queries = head_.queries, keys = head_.keys;
    attention_gradients<T> const& grads = out.grads;
    auto const add_kv_grads = [&](tensor4<T> grad, A* sum, double scale, matrix const& a,
                                  matrix const& b) {
      index_t const width = grad.extents().channels;
      product_size const size{keys, width, queries};
      if (sum == nullptr) return multiply_into_rows(grad, 0, scale, out.mode, size, a, b);
      multiply_into_sums(sum, width, scale, is_first ? grad_mode::overwrite : grad_mode::accumulate,
                         size, a, b);
      if (is_last)
        io_.store(sum, width, keys, width, head_.at(grad, 0), grad.strides().length,
                  grad.strides().channels, out.mode);
    };
    if (grads.dv.data() != nullptr)
      add_kv_grads(grads.dv, sums.dvalues, config_.dropout.scale,
                   weights_after_dropout(state).transposed(), matrix_of_valid_rows(out.dy));
    if (out.distance_sums != nullptr) std::fill_n(distance_sums(out), shape_.distances(), A(0));
    if (out.needs_score_grads()) {
      index_t const pitch = shape_.keys;
      multiply_into_sums(memory_.scores, pitch, 1, grad_mode::overwrite,
                         {queries, keys, shape_.values}, matrix_of_valid_rows(out.dy),
                         matrix_of_valid_rows(in_.v).transposed());
      for (index_t query = 0; query < queries; query += tile_queries)
        compute_score_grads(state, out, query, memory_.scores + query * pitch);
      matrix const score_grads = matrix::from_sums(memory_.scores, pitch, 1);
      if (grads.dq.data() != nullptr)
        multiply_into_rows(grads.dq, 0, config_.scale, out.mode, {queries, shape_.channels, keys},
                           score_grads, matrix_of_valid_rows(in_.k));
      if (grads.dk.data() != nullptr)
        add_kv_grads(grads.dk, sums.dkeys, config_.scale, score_grads.transposed(),
                     matrix_of_valid_rows(in_.q));
      io_.clear(head_, grads.dbias, queries, shape_.queries, out.mode);
    }
    io_.clear(head_, grads.dq, queries, shape_.queries, out.mode);
    if (!is_last) return;
    io_.clear(head_, grads.dk, keys, shape_.keys, out.mode);
    io_.clear(head_, grads.dv, keys, shape_.keys, out.mode);
  }

 private:
  // Returns the saved weights, or with dropout a copy in the workspace in which dropped weights are
  // 0.
  matrix weights_after_dropout(tensor4<T const> state) const {
    if (!config_.dropout.is_enabled()) return matrix_of_valid_rows(state);
    for (index_t i = 0; i < head_.queries; ++i)
      io_.load(head_.at(state, i), 0, state.strides().channels, 1, head_.keys,
               memory_.scores + i * shape_.keys, 0);
    apply_dropout(0, head_.queries, memory_.scores);
    return matrix::from_sums(memory_.scores, shape_.keys, 1);
  }
  // Rows per slab: about 4 MB, which fits in a shared cache. Slabs have equal sizes and consist
  // of whole tiles. Smaller slabs would load k and v too often.
  index_t slab_rows() const {
    constexpr index_t tile = tile_queries, bytes = index_t{4} << 20, min_rows = 6 * tile;
    auto const ceil_div = [](index_t n, index_t max_size) { return (n + max_size - 1) / max_size; };
    index_t const row = std::max<index_t>(head_.keys, 1) * static_cast<index_t>(sizeof(A)),
                  slabs = std::max<index_t>(
                      ceil_div(head_.queries, std::max(bytes / row, min_rows)), 1);
    return ceil_div(ceil_div(head_.queries, slabs), tile) * tile;
  }
  // Computes rows [query, query + queries) of the weights and of y.
  void compute_rows(index_t query, index_t queries, tensor4<T> y, tensor4<T> state) const {
    index_t const keys = head_.keys;
    A* scores = memory_.scores;
    index_t pitch = shape_.keys;
    bool is_in_state = false;
    if constexpr (sums_are_elements)
      if (state.data() != nullptr && state.strides().channels == 1)
        scores = head_.at(state, query), pitch = state.strides().length, is_in_state = true;
    multiply_into_sums(scores, pitch, config_.scale, grad_mode::overwrite,
                       {queries, keys, shape_.channels}, matrix_of_valid_rows(in_.q, query),
                       matrix_of_valid_rows(in_.k).transposed());
    for (index_t i = 0; i < queries; i += tile_queries)
      mask_scores(scores + i * pitch, pitch, query + i);
    for (index_t i = 0; i < queries; ++i) {
      A* const row = scores + i * pitch;
      kernels_.scale_row(row, keys, inverse_sum(kernels_.exponentiate_row(row, keys)));
    }
    if (state.data() != nullptr) {
      index_t const key_stride = state.strides().channels;
      for (index_t i = 0; i < queries; ++i) {
        T* const out_row = head_.at(state, query + i);
        if (!is_in_state)
          io_.store(scores + i * pitch, 0, 1, keys, out_row, 0, key_stride, grad_mode::overwrite);
        for (index_t j = keys; j < shape_.keys; ++j) out_row[j * key_stride] = T(0.0F);
      }
    }
    if (is_in_state && config_.dropout.is_enabled()) {
      for (index_t i = 0; i < queries; ++i)
        std::copy_n(scores + i * pitch, keys, memory_.scores + i * shape_.keys);
      scores = memory_.scores, pitch = shape_.keys;
    }
    apply_dropout(query, queries, scores);
    multiply_into_rows(y, query, config_.dropout.scale, grad_mode::overwrite,
                       {queries, shape_.values, keys}, matrix::from_sums(scores, pitch, 1),
                       matrix_of_valid_rows(in_.v));
  }

  // Adds the bias to the scores of a query tile and masks them.
  void mask_scores(A* scores, index_t pitch, index_t query) const {
    index_t const keys = head_.keys;
    int const count = static_cast<int>(std::min<index_t>(tile_queries, head_.queries - query));
    memory_.ranges->evaluate(config_.mask, head_, query, count);
    for (int i = 0; i < count; ++i) {
      A* const row = scores + i * pitch;
      key_range const range = memory_.ranges->query_ranges[i];
      if (in_.bias.data() != nullptr) add_bias(row, query + i, range);
      std::fill(row, row + range.first, minus_infinity<A>());
      std::fill(row + range.last, row + keys, minus_infinity<A>());
    }
    if (config_.mask.allowed_bits == nullptr) return;
    for (index_t key = 0; key < keys; key += tile_keys) {
      int const key_count = static_cast<int>(std::min<index_t>(tile_keys, keys - key));
      config_.mask.allowed_bits(config_.mask.mask, head_, {query, count, key, key_count},
                                memory_.lane_bits);
      for (int i = 0; i < count; ++i)
        for (int j = 0; j < key_count; ++j)
          if ((memory_.lane_bits[j] >> i & 1) == 0)
            scores[i * pitch + key + j] = minus_infinity<A>();
    }
  }
  void add_bias(A* row, index_t query, key_range range) const {
    T const* const bias = head_.at(in_.bias, query);
    index_t const key_stride = in_.bias.strides().channels;
    for (index_t j = range.first; j < range.last; ++j)
      row[j] += static_cast<A>(bias[j * key_stride]);
  }

  // Turns dP = dO V^T of a query tile into dS = P * (dP - D).
  void compute_score_grads(tensor4<T const> state, attention_backward_tensors<T> const& out,
                           index_t query, A* scores) const {
    constexpr int lanes = tile_queries;
    index_t const keys = head_.keys, values = shape_.values, key_stride = state.strides().channels;
    index_t const count = std::min<index_t>(lanes, head_.queries - query);
    io_.load(head_, out.dy, query, count, memory_.rows, values, lanes);
    kernels_.rows_to_lanes(memory_.rows, values, values, memory_.dy_transposed);
    io_.load(head_, out.y, query, count, memory_.rows, values, lanes);
    kernels_.rows_to_lanes(memory_.rows, values, values, memory_.y_transposed);
    kernels_.dot_rows(memory_.dy_transposed, memory_.y_transposed, values, memory_.delta);
    if (config_.dropout.is_enabled())
      for (index_t i = 0; i < count; ++i)
        kernels_.scale_row(scores + i * shape_.keys, keys, static_cast<A>(config_.dropout.scale));
    apply_dropout(query, count, scores);
    for (index_t i = 0; i < count; ++i) {
      A* const row = scores + i * shape_.keys;
      T const* const saved = head_.at(state, query + i);
      A const* weights = memory_.row;
      if constexpr (sums_are_elements)
        if (key_stride == 1) weights = saved;
      if (weights == memory_.row) io_.load(saved, 0, key_stride, 1, keys, memory_.row, 0);
      kernels_.compute_row_score_grads(weights, row, keys, memory_.delta[i]);
      if (out.grads.dbias.data() != nullptr) store_dbias(row, out, query + i);
      if (out.distance_sums == nullptr) continue;
      A* const last = distance_sums(out) + query + i + shape_.keys - 1;
      for (index_t j = 0; j < keys; ++j) last[-j] += row[j];
    }
  }
  A* distance_sums(attention_backward_tensors<T> const& out) const {
    return out.distance_sums + head_.pair * shape_.distances();
  }
  void store_dbias(A const* row, attention_backward_tensors<T> const& out, index_t query) const {
    index_t const key_stride = out.grads.dbias.strides().channels;
    T* const out_row = head_.at(out.grads.dbias, query);
    io_.store(row, 0, 1, head_.keys, out_row, 0, key_stride, out.mode);
    if (out.mode == grad_mode::overwrite)
      for (index_t j = head_.keys; j < shape_.keys; ++j) out_row[j * key_stride] = T(0.0F);
  }
};

SLICESORT_DETAIL_END
