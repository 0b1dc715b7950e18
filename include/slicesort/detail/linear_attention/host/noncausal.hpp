// SPDX-License-Identifier: Apache-2.0
// Noncausal linear attention of one head on the host. Forward accumulates S and Z over the keys,
// then computes the outputs. Backward computes dq and accumulates U and u, then computes dk and dv.
// params.hpp defines S, Z, U and u.
#pragma once

#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class T>
struct linear_noncausal : linear_task<T> {
  using base = linear_task<T>;
  using base::tile, base::in, base::io, base::width, base::memory, base::head, base::features;
  using typename base::A;

  using base::base;
  static constexpr bool causal = false;

  static void sum_keys(interleaved_heads<linear_noncausal>& heads) {
    index_t const keys = heads.first().head.keys;
    if (heads.first().has_maximum()) {
      heads.for_each([](linear_noncausal& task) { *task.memory.maxima = minus_infinity<A>(); });
      heads.for_each_tile(
          keys, [](linear_noncausal& task, index_t first) { task.update_maximum(first); });
    }
    heads.for_each_tile(keys, [](linear_noncausal& task, index_t first) { task.add_keys(first); });
    heads.for_each([](linear_noncausal& task) {
      if (task.memory.key_sums.transposed != nullptr) task.transpose(task.memory.key_sums);
    });
  }
  void compute_outputs(tensor4<T> y, index_t first) {
    int const rows = base::rows_of_tile(first, head.queries);
    base::for_each_query_head([&](index_t) {
      base::map_queries(first, rows, false);
      base::dot_features(memory.queries.phi, memory.key_sums.row, 0, rows, memory.weight_sums);
      base::evaluate_divisors(rows, memory.weight_sum_grads);
      base::multiply_by_sums(memory.queries.phi, memory.key_sums, memory.results, rows);
      base::store_divided(y, first, rows);
    });
  }
  void compute_query_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                               grad_mode mode, index_t first) {
    base::for_each_query_head([&](index_t) { compute_head_gradients(dy, grads, mode, first); });
  }
  void compute_key_gradients(tensor4<T const>, linear_attention_gradients<T> const& grads,
                             grad_mode mode, index_t first) const {
    int const rows = base::rows_of_tile(first, head.keys);
    auto const& k = memory.keys;
    map_keys(first, rows, true);
    if (grads.dv.data() != nullptr) {
      base::multiply_by_sums(k.phi, memory.query_sums, memory.results, rows);
      base::store_results(grads.dv, first, rows, mode);
    }
    if (grads.dk.data() == nullptr && grads.dw.data() == nullptr) return;
    auto const values = base::load_values(first, rows, static_cast<int>(padded_rows(rows)));
    base::multiply_by_transposed(values.data, memory.query_sums, k.dphi, rows);
    base::add_scaled_rows({memory.query_sums.row, 0}, rows, k.ones, k.dphi);
    features.map_backward(k, first, rows, grads.dk, mode);
  }

  void clear_query_sums() const { memory.query_sums.clear(width); }
  static void finish_outputs() {}
  static void store_state_gradients() {}

 private:
  // Computes dq of a tile of the current query head, and adds its queries to U and u.
  void compute_head_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                              grad_mode mode, index_t first) const {
    int const rows = base::rows_of_tile(first, head.queries);
    auto const& q = memory.queries;
    base::map_queries(first, rows, true);
    base::dot_features(q.phi, memory.key_sums.row, 0, rows, memory.weight_sums);
    base::evaluate_divisors(rows, memory.weight_sum_grads);
    base::load_scaled_dy(dy, first, rows);
    base::multiply_by_transposed(memory.scaled_dy, memory.key_sums, q.dphi, rows);
    base::dot_with_gradient(q.phi, q.dphi, rows);
    for (int i = 0; i < rows; ++i)
      memory.weight_sum_grads[i] = -(memory.weight_sum_grads[i] * memory.weight_sums[i]);
    base::add_tile(memory.query_sums, q.phi, {memory.scaled_dy, width.values},
                   memory.weight_sum_grads, rows, A(1));
    if (grads.dq.data() == nullptr && grads.dw.data() == nullptr) return;
    base::add_scaled_rows({memory.key_sums.row, 0}, rows, memory.weight_sum_grads, q.dphi);
    features.map_backward(q, first, rows, grads.dq, mode);
  }
  void add_keys(index_t first) const {
    int const rows = base::rows_of_tile(first, head.keys);
    map_keys(first, rows, false);
    auto const values = base::load_values(first, rows, rows);
    base::add_tile(memory.key_sums, memory.keys.phi, values, memory.keys.ones, rows, A(1));
  }
  void update_maximum(index_t first) const {
    int const rows = base::rows_of_tile(first, head.keys);
    features.load(memory.keys, in.k, first, rows);
    features.compute_maxima(memory.keys, rows);
    for (int i = 0; i < rows; ++i)
      if (*memory.maxima < memory.keys.row_scalars.maximum[i])
        *memory.maxima = memory.keys.row_scalars.maximum[i];
  }
  void map_keys(index_t first, int rows, bool needs_slopes) const {
    A* const maxima = memory.keys.row_scalars.maximum;
    base::map_rows(memory.keys, in.k, first, rows, needs_slopes,
                   [&] { std::fill(maxima, maxima + tile, *memory.maxima); });
  }
};

SLICESORT_DETAIL_END
