// SPDX-License-Identifier: Apache-2.0
// Causal linear attention of one head on the host. A tile multiplies by the sums of the tiles
// before it and adds the query-key pairs inside it. Backward makes a second pass from the last tile
// to the first. params.hpp defines S, Z, U, u, g and c.
#pragma once

#include <slicesort/detail/linear_attention/host/causal_state.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class T>
struct linear_causal : causal_state<T> {
  using base = causal_state<T>;
  using base::tile, base::in, base::width, base::memory, base::head, base::features;
  using typename base::A;

  using base::base;
  static constexpr bool causal = true;

  // Starts the sums, which causal calls accumulate tile by tile.
  static void sum_keys(interleaved_heads<linear_causal>& heads) {
    heads.for_each([](linear_causal& task) { task.load_state(); });
  }

  void compute_outputs(tensor4<T> y, index_t first) {
    causal_rows const rows = base::rows_of(first, head.queries);
    map_keys(rows, false, [&] { begin_maxima(rows); });
    auto const values = base::load_values(rows, rows.keys);
    base::transpose_features(rows);
    base::for_each_query_head([&](index_t) {
      base::map_queries(first, rows.queries, false);
      A const* const rescaled = base::rescale_queries(running_maxima_, rows);
      base::multiply_by_sums(rescaled, memory.key_sums, memory.results, rows.queries);
      base::dot_features(rescaled, memory.key_sums.row, 0, rows.queries, memory.weight_sums);
      base::compute_weights(rows);
      base::mask(memory.weights, nullptr, running_maxima_, rows);
      base::add_keys(memory.weights, values, memory.results, width.values, rows);
      base::add_weight_sums(rows);
      base::evaluate_divisors(rows.queries, memory.weight_sum_grads);
      base::store_divided(y, first, rows.queries);
    });
    bool const is_last = base::is_last(rows), is_partial = rows.keys < tile;
    if (is_last && is_partial && base::saves_state())
      return base::store_state(running_maxima_.before_tile, rows.keys, running_maxima_.at_row);
    if (!is_last || base::saves_state()) add_keys_to_sums(rows, values);
    running_maxima_.end_tile();
    if (is_last && base::saves_state())
      base::store_state(running_maxima_.before_tile, 0, running_maxima_.at_row);
  }
  void compute_query_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                               grad_mode mode, index_t first) {
    if (first >= head.queries) return compute_maxima(first);
    causal_rows const rows = base::rows_of(first, head.queries);
    map_keys(rows, true, [&] { begin_maxima(rows); });
    save_maxima(rows);
    auto const values = base::load_values(rows, tile);
    base::transpose_values(values);
    base::compute_running_z(running_maxima_, rows);
    base::for_each_query_head(
        [&](index_t h) { compute_head_gradients(dy, grads, mode, rows, h * base::shape.queries); });
    if (!base::is_last(rows)) {
      add_keys_to_sums(rows, values);
      base::transpose(memory.key_sums);
    }
    running_maxima_.end_tile();
  }
  void compute_key_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                             grad_mode mode, index_t first) {
    causal_rows const rows = base::rows_of(first, head.queries);
    causal_maxima<A> const maxima = base::load_maxima(rows);
    // The keys of the last state's partial tile are not in its sums.
    bool const is_partial = base::shape.with_state && base::is_last(rows) && base::rows_after() > 0;
    bool const needs_state = first == 0 && base::needs_state_gradient();
    bool const needs_sums = first != 0 || needs_state;
    bool const needs_dv = rows.keys > 0 && (grads.dv.data() != nullptr || needs_state);
    bool const needs_dphi =
        rows.keys > 0 && (grads.dk.data() != nullptr || grads.dw.data() != nullptr || needs_state);
    if (rows.keys > 0)
      map_keys(rows, true,
               [&] { std::copy_n(maxima.at_row, tile, memory.keys.row_scalars.maximum); });
    if (needs_dv) base::transpose_features(rows);
    if (needs_dphi) base::transpose_values(base::load_values(rows, tile));
    base::for_each_query_head([&](index_t h) {
      index_t const saved = h * base::shape.queries + first;
      std::copy_n(memory.saved_inverse_divisors + saved, rows.queries, memory.inverse_divisors);
      std::copy_n(memory.saved_weight_sum_grads + saved, rows.queries, memory.weight_sum_grads);
      base::map_queries(first, rows.queries, false);
      base::load_scaled_dy(dy, first, rows.queries);
      if (needs_dv) add_value_gradients(maxima, rows, h == 0);
      if (needs_dphi) add_feature_gradients(maxima, rows, h == 0);
      if (!needs_sums) return;
      if (h == 0 && is_partial) base::load_sums(base::dlast(), memory.query_sums);
      base::add_tile(memory.query_sums, base::rescale_queries(maxima, rows),
                     {memory.scaled_dy, width.values}, memory.weight_sum_grads, rows.queries,
                     h != 0 || is_partial ? A(1) : base::decay_over_tile(maxima));
    });
    if (needs_dv) store_value_gradients(grads.dv, mode, rows);
    if (needs_dphi) store_feature_gradients(grads.dk, mode, rows);
    if (needs_sums) base::transpose(memory.query_sums);
  }

  // Copies the state of a piece without rows.
  void finish_outputs() const {
    if (head.queries != 0 || !base::saves_state()) return;
    base::copy_state(base::context.initial, base::context.last);
    base::store_position();
  }
  void clear_query_sums() const {
    bool const is_in_sums = base::rows_after() == 0;
    base::load_sums(is_in_sums ? base::dlast() : base::state_of(tensor4<A const>()),
                    memory.query_sums);
  }
  void store_state_gradients() const {
    if (!base::needs_state_gradient()) return;
    if (head.queries == 0) return base::copy_state(base::context.dlast, base::context.dinitial);
    base::store_sum_gradients();
  }

 private:
  // Computes dq of a tile of the current query head. Saves its divisors and the gradients of its
  // weight sums from element `saved` on.
  void compute_head_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                              grad_mode mode, causal_rows const& rows, index_t saved) const {
    auto const &q = memory.queries, &k = memory.keys;
    base::map_queries(rows.first, rows.queries, true);
    A const* const z = base::running_z(rows);
    base::dot_features(q.phi, z, width.features, rows.queries, memory.weight_sums);
    base::evaluate_divisors(rows.queries, memory.weight_sum_grads);
    base::load_scaled_dy(dy, rows.first, rows.queries);

    base::compute_weight_grads(rows);
    base::mask(memory.weight_grads, nullptr, running_maxima_, rows);
    base::multiply_by_transposed(base::rescale_scaled_dy(running_maxima_, rows), memory.key_sums,
                                 q.dphi, rows.queries);
    base::add_keys(memory.weight_grads, {k.phi, width.features}, q.dphi, width.features, rows);
    base::dot_with_gradient(q.phi, q.dphi, rows.queries);
    for (int i = 0; i < rows.queries; ++i) {
      memory.weight_sum_grads[i] = -(memory.weight_sum_grads[i] * memory.weight_sums[i]);
      memory.saved_inverse_divisors[saved + rows.first + i] = memory.inverse_divisors[i];
      memory.saved_weight_sum_grads[saved + rows.first + i] = memory.weight_sum_grads[i];
    }
    if (grads.dq.data() != nullptr || grads.dw.data() != nullptr) {
      base::add_scaled_rows({z, width.features}, rows.queries, memory.weight_sum_grads, q.dphi);
      features.map_backward(q, rows.first, rows.queries, grads.dq, mode);
    }
  }
  template <class SetMaxima>
  void map_keys(causal_rows const& rows, bool needs_slopes, SetMaxima const& set_maxima) const {
    base::map_rows(memory.keys.skip_rows(rows.first_query, width), in.k, rows.first,
                   rows.new_keys(), needs_slopes, set_maxima);
    base::load_features(rows);
  }
  void begin_maxima(causal_rows const& rows) {
    features.compute_maxima(memory.keys.skip_rows(rows.first_query, width), rows.new_keys());
    base::load_state_maxima(memory.keys.row_scalars.maximum, rows.first_query);
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
      std::copy(running_maxima_.at_row + rows.first_query, running_maxima_.at_row + rows.keys,
                memory.maxima + rows.first);
  }
  void add_keys_to_sums(causal_rows const& rows, pitched_rows<A const> values) const {
    base::add_tile(memory.key_sums, base::rescale_keys(running_maxima_, rows), values,
                   memory.keys.ones, rows.keys, base::decay_over_tile(running_maxima_));
  }
  // Add the current query head's part to the gradients of the tile's values, or of its keys'
  // features. That of the first head includes the sums over the later tiles.
  void add_value_gradients(causal_maxima<A> const& maxima, causal_rows const& rows,
                           bool is_first) const {
    base::compute_weights(rows);
    base::mask(memory.weights, nullptr, maxima, rows);
    add_head(memory.results, width.values, rows, is_first, [&](A* sums) {
      if (is_first)
        base::multiply_by_sums(base::rescale_keys(maxima, rows), memory.query_sums, sums,
                               rows.keys);
      base::add_queries(memory.weights, memory.scaled_dy, width.values, sums, rows);
    });
  }
  void add_feature_gradients(causal_maxima<A> const& maxima, causal_rows const& rows,
                             bool is_first) const {
    base::compute_weight_grads(rows);
    base::mask(memory.weight_grads, memory.weight_sum_grads, maxima, rows);
    add_head(memory.keys.dphi, width.features, rows, is_first, [&](A* sums) {
      pitched_rows<A const> values{memory.values, width.values};
      A const* factors = nullptr;
      if (is_first) {
        factors = base::rescale_values(maxima, rows, values);
        base::multiply_by_transposed(values.data, memory.query_sums, sums, rows.keys);
      }
      base::add_queries(memory.weight_grads, memory.queries.phi, width.features, sums, rows);
      if (is_first) base::add_scaled_rows({memory.query_sums.row, 0}, rows.keys, factors, sums);
    });
  }
  // Calls add(sums) with `sums` of the first head, and with zeros for a later one, whose results
  // are then added.
  template <class Add>
  void add_head(A* sums, index_t pitch, causal_rows const& rows, bool is_first,
                Add const& add) const {
    if (is_first) return add(sums);
    index_t const count = tile * pitch;
    std::fill_n(memory.head_sums, count, A(0));
    add(memory.head_sums);
    for (index_t i = 0; i < rows.keys * pitch; ++i) sums[i] += memory.head_sums[i];
  }
  void store_value_gradients(tensor4<T> dv, grad_mode mode, causal_rows const& rows) const {
    if (base::is_last(rows)) base::add_value_gradients(memory.results, base::rows_after());
    if (rows.first == 0) base::store_value_gradients(memory.results, rows.first_query);
    if (dv.data() != nullptr)
      base::io.store(memory.results + rows.first_query * width.values, width.values, head, dv,
                     rows.first, rows.new_keys(), mode);
  }
  void store_feature_gradients(tensor4<T> dk, grad_mode mode, causal_rows const& rows) const {
    if (base::is_last(rows)) base::add_feature_gradients(memory.keys.dphi, base::rows_after());
    if (rows.first == 0) base::store_feature_gradients(memory.keys.dphi, rows.first_query);
    features.map_backward(memory.keys.skip_rows(rows.first_query, width), rows.first,
                          rows.new_keys(), dk, mode);
  }
  void load_state() {
    if (base::context.initial.data() == nullptr) return;
    base::load_sums(base::initial_state(), memory.key_sums);
    if (base::has_maximum() && base::position.tiles > 0)
      running_maxima_.before_tile = base::initial_maximum(),
      running_maxima_.has_earlier_keys = true;
  }

  causal_maxima<A> running_maxima_{nullptr};  // of the first pass
};

SLICESORT_DETAIL_END
