// SPDX-License-Identifier: Apache-2.0
// Causal linear attention of one head on the host. Each tile adds the sums of the tiles before it
// and the weighted pairs inside it. Backward makes a second pass from the last tile to the first.
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
    map_tile(rows, false);
    auto const values = base::load_values(first, rows.keys, rows.keys);
    A const* const weighted = base::rescaled_queries(running_, rows);
    base::multiply_by_sums(weighted, memory.sums, memory.results, rows.queries);
    base::dot_features(weighted, memory.sums.row, 0, rows.queries, memory.d);
    base::compute_weights(memory.queries.phi, width.features, base::shape.feature.count,
                          memory.weights, rows);
    base::mask(memory.weights, nullptr, running_, rows);
    base::add_keys(memory.weights, values, memory.results, width.values, rows);
    base::add_sums_of_weights(rows);
    base::divide(rows.queries, memory.c);
    base::store_divided(y, first, rows.queries);
    if (first + tile < head.queries) add_keys_to_sums(rows, values);
    running_.end_tile();
  }
  void compute_query_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                               grad_mode mode, index_t first) {
    if (first >= head.queries) return compute_maxima(first);
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const &q = memory.queries, &k = memory.keys;
    map_tile(rows, true);
    save_maxima(rows);
    auto const values = base::load_values(first, rows.keys, tile);
    base::compute_running_sums(running_, rows);
    base::dot_features(q.phi, memory.running, width.features, rows.queries, memory.d);
    base::divide(rows.queries, memory.c);
    base::load_gradient(dy, rows.first, rows.queries);

    base::compute_weight_gradients(values, rows);
    base::mask(memory.weight_gradients, nullptr, running_, rows);
    base::multiply_by_transposed(base::rescaled_gradient(running_, rows), memory.sums, q.dphi,
                                 rows.queries);
    base::add_keys(memory.weight_gradients, {k.phi, width.features}, q.dphi, width.features, rows);
    base::dot_gradient(q.phi, q.dphi, rows.queries);
    for (int i = 0; i < rows.queries; ++i) {
      memory.c[i] = -(memory.c[i] * memory.d[i]);
      memory.saved_inverse[first + i] = memory.inverse[i];
      memory.saved_c[first + i] = memory.c[i];
    }
    if (grads.dq.data() != nullptr || grads.dw.data() != nullptr) {
      base::add_scaled_rows({memory.running, width.features}, rows.queries, memory.c, q.dphi);
      features.map_backward(q, first, rows.queries, grads.dq, mode);
    }
    if (first + tile < head.queries) {
      add_keys_to_sums(rows, values);
      base::transpose(memory.sums);
    }
    running_.end_tile();
  }
  void compute_key_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                             grad_mode mode, index_t first) const {
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const& k = memory.keys;
    causal_maxima<A> const running = base::maxima_of(rows);
    std::copy_n(memory.saved_inverse + first, rows.queries, memory.inverse);
    std::copy_n(memory.saved_c + first, rows.queries, memory.c);
    base::map_queries(first, rows.queries, false);
    base::load_gradient(dy, rows.first, rows.queries);
    if (rows.keys > 0) {
      base::map_rows(k, in.k, first, rows.keys, true,
                     [&] { std::copy_n(running.rows, tile, k.row.maximum); });
      if (grads.dv.data() != nullptr) compute_value_gradients(grads.dv, mode, running, rows);
      if (grads.dk.data() != nullptr || grads.dw.data() != nullptr) {
        compute_feature_gradients(running, rows);
        features.map_backward(k, first, rows.keys, grads.dk, mode);
      }
    }
    if (first == 0) return;
    base::add_tile(memory.gradients, base::rescaled_queries(running, rows),
                   {memory.g, width.values}, memory.c, rows.queries, base::decay(running));
    base::transpose(memory.gradients);
  }

 private:
  // Computes the features of the keys and queries of a tile, and the running maxima of its keys.
  void map_tile(causal_rows const& rows, bool slopes) {
    base::map_rows(memory.keys, in.k, rows.first, rows.keys, slopes, [&] { begin_maxima(rows); });
    base::map_queries(rows.first, rows.queries, slopes);
  }
  void begin_maxima(causal_rows const& rows) {
    features.compute_maxima(memory.keys, rows.keys);
    running_.begin_tile(memory.keys.row.maximum, rows.keys);
  }
  // Computes the key maxima of a tile that no query sees.
  void compute_maxima(index_t first) {
    if (!base::has_maximum()) return;
    causal_rows const rows = base::rows_of(first, head.queries);
    features.load(memory.keys, in.k, rows.first, rows.keys);
    begin_maxima(rows);
    save_maxima(rows);
    running_.end_tile();
  }
  // Saves the maxima for the second pass.
  void save_maxima(causal_rows const& rows) const {
    if (base::has_maximum())
      std::copy(running_.rows, running_.rows + rows.keys, memory.maxima + rows.first);
  }
  void add_keys_to_sums(causal_rows const& rows, pitched_rows<A const> values) const {
    base::add_tile(memory.sums, base::rescaled_keys(running_, rows), values, memory.keys.ones,
                   rows.keys, base::decay(running_));
  }
  void compute_value_gradients(tensor4<T> dv, grad_mode mode, causal_maxima<A> const& running,
                               causal_rows const& rows) const {
    base::compute_weights(memory.queries.phi, width.features, base::shape.feature.count,
                          memory.weights, rows);
    base::mask(memory.weights, nullptr, running, rows);
    base::multiply_by_sums(base::rescaled_keys(running, rows), memory.gradients, memory.results,
                           rows.keys);
    base::add_queries(memory.weights, memory.g, width.values, memory.results, rows);
    base::store_results(dv, rows.first, rows.keys, mode);
  }
  void compute_feature_gradients(causal_maxima<A> const& running, causal_rows const& rows) const {
    auto values = base::load_values(rows.first, rows.keys, tile);
    base::compute_weight_gradients(values, rows);
    base::mask(memory.weight_gradients, memory.c, running, rows);
    A const* const factors = base::rescaled_values(running, rows, values);
    base::multiply_by_transposed(values.data, memory.gradients, memory.keys.dphi, rows.keys);
    base::add_queries(memory.weight_gradients, memory.queries.phi, width.features, memory.keys.dphi,
                      rows);
    base::add_scaled_rows({memory.gradients.row, 0}, rows.keys, factors, memory.keys.dphi);
  }

  causal_maxima<A> running_{nullptr};  // running maxima of the first pass
};

SLICESORT_DETAIL_END
