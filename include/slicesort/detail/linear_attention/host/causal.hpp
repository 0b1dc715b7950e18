// SPDX-License-Identifier: Apache-2.0
// Causal linear attention of one head on the host. A tile multiplies by the sums of the tiles
// before it and adds the query-key pairs inside it. Backward makes a second pass from the last tile
// to the first. params.hpp defines S, Z, U, u, g and c.
#pragma once

#include <slicesort/detail/linear_attention/host/causal_tile.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class T>
struct linear_causal : causal_tiles<T> {
  using base = causal_tiles<T>;
  using base::tile, base::in, base::width, base::memory, base::head, base::features;
  using typename base::A;

  using base::base;
  static constexpr bool causal = true;

  // Empty, because causal calls accumulate the sums tile by tile.
  static void sum_keys(interleaved_heads<linear_causal>&) {}

  void compute_outputs(tensor4<T> y, index_t first) {
    causal_rows const rows = base::rows_of(first, head.queries);
    map_tile_rows(rows, false);
    auto const values = base::load_values(first, rows.keys, rows.keys);
    A const* const rescaled = base::rescale_queries(running_maxima_, rows);
    base::multiply_by_sums(rescaled, memory.key_sums, memory.results, rows.queries);
    base::dot_features(rescaled, memory.key_sums.row, 0, rows.queries, memory.weight_sums);
    base::compute_weights(memory.queries.phi, width.features, base::shape.feature.count,
                          memory.weights, rows);
    base::mask(memory.weights, nullptr, running_maxima_, rows);
    base::add_keys(memory.weights, values, memory.results, width.values, rows);
    base::add_weight_sums(rows);
    base::evaluate_divisors(rows.queries, memory.weight_sum_grads);
    base::store_divided(y, first, rows.queries);
    if (first + tile < head.queries) add_keys_to_sums(rows, values);
    running_maxima_.end_tile();
  }
  void compute_query_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                               grad_mode mode, index_t first) {
    if (first >= head.queries) return compute_maxima(first);
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const &q = memory.queries, &k = memory.keys;
    map_tile_rows(rows, true);
    save_maxima(rows);
    auto const values = base::load_values(first, rows.keys, tile);
    base::compute_running_z(running_maxima_, rows);
    base::dot_features(q.phi, memory.running_z, width.features, rows.queries, memory.weight_sums);
    base::evaluate_divisors(rows.queries, memory.weight_sum_grads);
    base::load_scaled_dy(dy, rows.first, rows.queries);

    base::compute_weight_grads(values, rows);
    base::mask(memory.weight_grads, nullptr, running_maxima_, rows);
    base::multiply_by_transposed(base::rescale_scaled_dy(running_maxima_, rows), memory.key_sums,
                                 q.dphi, rows.queries);
    base::add_keys(memory.weight_grads, {k.phi, width.features}, q.dphi, width.features, rows);
    base::dot_with_gradient(q.phi, q.dphi, rows.queries);
    for (int i = 0; i < rows.queries; ++i) {
      memory.weight_sum_grads[i] = -(memory.weight_sum_grads[i] * memory.weight_sums[i]);
      memory.saved_inverse_divisors[first + i] = memory.inverse_divisors[i];
      memory.saved_weight_sum_grads[first + i] = memory.weight_sum_grads[i];
    }
    if (grads.dq.data() != nullptr || grads.dw.data() != nullptr) {
      base::add_scaled_rows({memory.running_z, width.features}, rows.queries,
                            memory.weight_sum_grads, q.dphi);
      features.map_backward(q, first, rows.queries, grads.dq, mode);
    }
    if (first + tile < head.queries) {
      add_keys_to_sums(rows, values);
      base::transpose(memory.key_sums);
    }
    running_maxima_.end_tile();
  }
  void compute_key_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                             grad_mode mode, index_t first) const {
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const& k = memory.keys;
    causal_maxima<A> const maxima = base::load_maxima(rows);
    std::copy_n(memory.saved_inverse_divisors + first, rows.queries, memory.inverse_divisors);
    std::copy_n(memory.saved_weight_sum_grads + first, rows.queries, memory.weight_sum_grads);
    base::map_queries(first, rows.queries, false);
    base::load_scaled_dy(dy, rows.first, rows.queries);
    if (rows.keys > 0) {
      base::map_rows(k, in.k, first, rows.keys, true,
                     [&] { std::copy_n(maxima.at_row, tile, k.row_scalars.maximum); });
      if (grads.dv.data() != nullptr) compute_value_gradients(grads.dv, mode, maxima, rows);
      if (grads.dk.data() != nullptr || grads.dw.data() != nullptr) {
        compute_feature_gradients(maxima, rows);
        features.map_backward(k, first, rows.keys, grads.dk, mode);
      }
    }
    if (first == 0) return;
    base::add_tile(memory.query_sums, base::rescale_queries(maxima, rows),
                   {memory.scaled_dy, width.values}, memory.weight_sum_grads, rows.queries,
                   base::decay_over_tile(maxima));
    base::transpose(memory.query_sums);
  }

 private:
  // Computes the features of the keys and queries of a tile, and the running maxima of its keys.
  void map_tile_rows(causal_rows const& rows, bool needs_slopes) {
    base::map_rows(memory.keys, in.k, rows.first, rows.keys, needs_slopes,
                   [&] { begin_maxima(rows); });
    base::map_queries(rows.first, rows.queries, needs_slopes);
  }
  void begin_maxima(causal_rows const& rows) {
    features.compute_maxima(memory.keys, rows.keys);
    running_maxima_.begin_tile(memory.keys.row_scalars.maximum, rows.keys);
  }
  // Computes the key maxima of a tile that no query sees.
  void compute_maxima(index_t first) {
    if (!base::has_maximum()) return;
    causal_rows const rows = base::rows_of(first, head.queries);
    features.load(memory.keys, in.k, rows.first, rows.keys);
    begin_maxima(rows);
    save_maxima(rows);
    running_maxima_.end_tile();
  }
  // Saves the maxima for the second pass.
  void save_maxima(causal_rows const& rows) const {
    if (base::has_maximum())
      std::copy(running_maxima_.at_row, running_maxima_.at_row + rows.keys,
                memory.maxima + rows.first);
  }
  void add_keys_to_sums(causal_rows const& rows, pitched_rows<A const> values) const {
    base::add_tile(memory.key_sums, base::rescale_keys(running_maxima_, rows), values,
                   memory.keys.ones, rows.keys, base::decay_over_tile(running_maxima_));
  }
  void compute_value_gradients(tensor4<T> dv, grad_mode mode, causal_maxima<A> const& maxima,
                               causal_rows const& rows) const {
    base::compute_weights(memory.queries.phi, width.features, base::shape.feature.count,
                          memory.weights, rows);
    base::mask(memory.weights, nullptr, maxima, rows);
    base::multiply_by_sums(base::rescale_keys(maxima, rows), memory.query_sums, memory.results,
                           rows.keys);
    base::add_queries(memory.weights, memory.scaled_dy, width.values, memory.results, rows);
    base::store_results(dv, rows.first, rows.keys, mode);
  }
  void compute_feature_gradients(causal_maxima<A> const& maxima, causal_rows const& rows) const {
    auto values = base::load_values(rows.first, rows.keys, tile);
    base::compute_weight_grads(values, rows);
    base::mask(memory.weight_grads, memory.weight_sum_grads, maxima, rows);
    A const* const factors = base::rescale_values(maxima, rows, values);
    base::multiply_by_transposed(values.data, memory.query_sums, memory.keys.dphi, rows.keys);
    base::add_queries(memory.weight_grads, memory.queries.phi, width.features, memory.keys.dphi,
                      rows);
    base::add_scaled_rows({memory.query_sums.row, 0}, rows.keys, factors, memory.keys.dphi);
  }

  causal_maxima<A> running_maxima_{nullptr};  // of the first pass
};

SLICESORT_DETAIL_END
