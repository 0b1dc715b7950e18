// SPDX-License-Identifier: Apache-2.0
// Causal linear attention of one head on the host. Tile by tile: sums of the tiles before, plus
// weights within the tile. Backward adds a second pass from the last tile to the first.
#pragma once

#include <slicesort/detail/linear_attention/host/causal_tile.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class T, class Params>
class linear_causal : causal_tiles<T> {
  using base = causal_tiles<T>;
  using base::tile, base::kernels, base::io, base::width, base::memory, base::head, base::features;
  using typename base::A;

 public:
  linear_causal(Params const& params, linear_context<T> const& context,
                linear_task_memory<A> const& task_memory, index_t pair)
      : base(context, task_memory, pair), params_(params) {
    features.load_w(params_.in.w);
  }

  static void forward(interleaved_heads<linear_causal>& heads, tensor4<T> y) {
    heads.for_each_tile(heads.first().head.queries, [&](linear_causal& task, index_t first) {
      task.compute_outputs(y, first);
    });
    heads.for_each([&](linear_causal& task) {
      task.io.clear(task.head, y, task.head.queries, task.base::shape.queries,
                    grad_mode::overwrite);
    });
  }

  static void backward(interleaved_heads<linear_causal>& heads, tensor4<T const> dy,
                       linear_attention_gradients<T> const& grads, grad_mode mode) {
    heads.for_each([](linear_causal& task) { task.memory.gradients.clear(task.width); });
    index_t const queries = heads.first().head.queries, length = heads.first().head.longer();
    heads.for_each_tile(length, [&](linear_causal& task, index_t first) {
      if (first < queries)
        task.compute_query_gradients(dy, grads, mode, first);
      else
        task.compute_maxima(first);
    });
    heads.for_each_tile_reversed(length, [&](linear_causal& task, index_t first) {
      task.compute_key_gradients(dy, grads, mode, first);
    });
    heads.for_each([&](linear_causal& task) { task.clear_gradient_padding(grads, mode); });
  }

 private:
  void compute_outputs(tensor4<T> y, index_t first) {
    causal_rows const rows = base::valid_rows(first, head.queries);
    map_tile(rows, false);
    auto const values = base::load_values(params_.in.v, first, rows.keys, rows.keys);
    A const* const weighted = base::rescaled_queries(running_, rows);
    base::multiply_rows({weighted, width.features}, base::shape.feature.count,
                        {memory.sums.matrix, width.values}, memory.results, width.values,
                        rows.queries);
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
  // Computes the features of the keys and queries of a tile, and the running maxima of its keys.
  void map_tile(causal_rows const& rows, bool slopes) {
    if (base::has_maximum()) {
      load_keys(rows);
      features.map(memory.keys, rows.first, rows.keys, slopes);
    } else {
      features.load_and_map(memory.keys, params_.in.k, rows.first, rows.keys, slopes);
    }
    base::map_queries(params_.in.q, rows.first, rows.queries, slopes);
  }
  void load_keys(causal_rows const& rows) {
    features.load(memory.keys, params_.in.k, rows.first, rows.keys);
    features.compute_maxima(memory.keys, rows.keys);
    running_.begin_tile(memory.keys.row.maximum, rows.keys);
  }
  // Computes the maxima of a tile of keys that no query sees.
  void compute_maxima(index_t first) {
    if (!base::has_maximum()) return;
    causal_rows const rows = base::valid_rows(first, head.queries);
    load_keys(rows);
    save_maxima(rows);
    running_.end_tile();
  }
  // Saves the maxima for the pass from the last tile to the first.
  void save_maxima(causal_rows const& rows) const {
    if (base::has_maximum())
      std::copy(running_.rows, running_.rows + rows.keys, memory.maxima + rows.first);
  }
  void add_keys_to_sums(causal_rows const& rows, pitched_rows<A const> values) const {
    base::add_tile(memory.sums, base::rescaled_keys(running_, rows), values, memory.keys.ones,
                   rows.keys, base::decay(running_));
  }
  void compute_query_gradients(tensor4<T const> dy, linear_attention_gradients<T> const& grads,
                               grad_mode mode, index_t first) {
    causal_rows const rows = base::valid_rows(first, head.queries);
    auto const &q = memory.queries, &k = memory.keys;
    map_tile(rows, true);
    save_maxima(rows);
    auto const values = base::load_values(params_.in.v, first, rows.keys, tile);
    base::compute_running_sums(running_, rows);
    base::dot_features(q.phi, memory.running, width.features, rows.queries, memory.d);
    base::divide(rows.queries, memory.c);
    base::load_gradient(dy, rows.first, rows.queries);

    base::compute_weight_gradients(values, rows);
    base::mask(memory.weight_gradients, nullptr, running_, rows);
    A const* const weighted = base::rescaled_gradient(running_, rows);
    base::multiply_rows({weighted, width.values}, base::shape.values,
                        {memory.sums.transposed, width.features}, q.dphi, width.features,
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
    causal_rows const rows = base::valid_rows(first, head.queries);
    auto const& k = memory.keys;
    causal_maxima<A> const running = base::maxima_of(rows);
    std::copy_n(memory.saved_inverse + first, rows.queries, memory.inverse);
    std::copy_n(memory.saved_c + first, rows.queries, memory.c);
    base::map_queries(params_.in.q, first, rows.queries, false);
    base::load_gradient(dy, rows.first, rows.queries);
    if (rows.keys > 0) {
      map_keys_again(running, rows);
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
  // Recomputes the features of the keys, relative to the saved maxima.
  void map_keys_again(causal_maxima<A> const& running, causal_rows const& rows) const {
    if (!base::has_maximum())
      return features.load_and_map(memory.keys, params_.in.k, rows.first, rows.keys, true);
    features.load(memory.keys, params_.in.k, rows.first, rows.keys);
    std::copy_n(running.rows, tile, memory.keys.row.maximum);
    features.map(memory.keys, rows.first, rows.keys, true);
  }
  void compute_value_gradients(tensor4<T> dv, grad_mode mode, causal_maxima<A> const& running,
                               causal_rows const& rows) const {
    base::compute_weights(memory.queries.phi, width.features, base::shape.feature.count,
                          memory.weights, rows);
    base::mask(memory.weights, nullptr, running, rows);
    base::multiply_rows({base::rescaled_keys(running, rows), width.features},
                        base::shape.feature.count, {memory.gradients.matrix, width.values},
                        memory.results, width.values, rows.keys);
    base::add_queries(memory.weights, memory.g, width.values, memory.results, rows);
    base::store_results(dv, rows.first, rows.keys, mode);
  }
  void compute_feature_gradients(causal_maxima<A> const& running, causal_rows const& rows) const {
    auto values = base::load_values(params_.in.v, rows.first, rows.keys, tile);
    base::compute_weight_gradients(values, rows);
    base::mask(memory.weight_gradients, memory.c, running, rows);
    A const* const factors = base::rescaled_values(running, rows, values);
    base::multiply_rows(values, base::shape.values, {memory.gradients.transposed, width.features},
                        memory.keys.dphi, width.features, rows.keys);
    base::add_queries(memory.weight_gradients, memory.queries.phi, width.features, memory.keys.dphi,
                      rows);
    base::add_scaled_rows({memory.gradients.row, 0}, rows.keys, factors, memory.keys.dphi);
  }

  Params const& params_;
  causal_maxima<A> running_ = base::no_maxima();  // in the first pass
};

SLICESORT_DETAIL_END
