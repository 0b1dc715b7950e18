// SPDX-License-Identifier: Apache-2.0
// Steps for one tile of causal linear attention: weights of its query-key pairs, and running maxima
// of its keys for random_exp.
#pragma once

#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Valid rows of a tile. The first tile of a piece starts with keys that its state holds, which have
// no queries: query i of the tile has the row first_query + i.
struct causal_rows {
  index_t first;      // of the queries in their tensor
  int queries, keys;  // keys include those of the state
  int first_query;

  int new_keys() const { return keys - first_query; }
};

// Running maxima of the keys of a tile, for random_exp. Rows past the last key repeat its maximum.
template <class A>
struct causal_maxima {
  A* at_row;  // null if the features have no maximum
  A before_tile = A(0);
  bool has_earlier_keys = false;

  A at_end() const { return at_row[linear_tile - 1]; }
  // Replaces the row maxima of the tile's keys by running maxima.
  void begin_tile(A* maxima, int keys) {
    at_row = maxima;
    if (!has_earlier_keys && keys > 0) before_tile = at_row[0], has_earlier_keys = true;
    A running = before_tile;
    for (int j = 0; j < linear_tile; ++j) {
      if (j < keys) running = running < at_row[j] ? at_row[j] : running;
      at_row[j] = running;
    }
  }
  void end_tile() {
    if (at_row != nullptr) before_tile = at_end();
  }
};

template <class T>
struct causal_tiles : linear_task<T> {
  using base = linear_task<T>;

  using base::base;
  using base::tile, base::kernels, base::width, base::memory, base::head, base::has_maximum,
      base::context;
  using typename base::A;

  causal_rows rows_of(index_t first, index_t queries) const {
    int const offset = first == 0 ? base::position.rows : 0;
    return {first, base::rows_of_tile(first, queries, tile - offset),
            base::rows_of_tile(first, head.keys, tile - offset) + offset, offset};
  }
  // True if the tile holds the last queries.
  bool is_last(causal_rows const& rows) const {
    return rows.first + tile - rows.first_query >= head.queries;
  }
  // Loads the running maxima of a tile that the first pass saved.
  causal_maxima<A> load_maxima(causal_rows const& rows) const {
    causal_maxima<A> maxima{nullptr};
    if (!has_maximum() || head.keys == 0) return maxima;
    maxima.at_row = memory.weight_sums;  // unused in this pass
    int const offset = rows.first_query;
    load_state_maxima(maxima.at_row, offset);
    for (int j = offset; j < tile; ++j)
      maxima.at_row[j] = memory.maxima[std::min(rows.first + j - offset, head.keys - 1)];
    index_t const last = std::min(rows.first, head.keys) - 1;
    maxima.before_tile = last >= 0                  ? memory.maxima[last]
                         : base::position.tiles > 0 ? initial_maximum()
                                                    : maxima.at_row[0];
    maxima.has_earlier_keys = true;
    return maxima;
  }
  // Loads the running maxima of the first `count` keys of the state.
  void load_state_maxima(A* at_row, int count) const {
    for (int j = 0; j < count; ++j) at_row[j] = initial_state().maximum_at(j);
  }
  linear_head_state<A const> initial_state() const { return state_of(context.initial); }
  A initial_maximum() const { return initial_state()[linear_state_layout::maximum]; }
  template <class E>
  linear_head_state<E> state_of(tensor4<E> state) const {
    return {state, head.sample, head.kv_head, {base::shape.feature.count, base::shape.values}};
  }

  // Compute exp(maxima[j] - end) and exp(before - maxima[j]).
  void compute_factors_to_end(A const* maxima, A end, A* factors) const {
    for (int j = 0; j < tile; ++j) factors[j] = maxima[j] - end;
    kernels.exponentiate(factors, tile);
  }
  void compute_factors_from_start(A before, A const* maxima, A* factors) const {
    for (int j = 0; j < tile; ++j) factors[j] = before - maxima[j];
    kernels.exponentiate(factors, tile);
  }
  void compute_query_factors(causal_maxima<A> const& maxima, causal_rows const& rows,
                             A* factors) const {
    A at_query[linear_tile];
    for (int i = 0; i < tile; ++i)
      at_query[i] = maxima.at_row[std::min(i + rows.first_query, tile - 1)];
    compute_factors_from_start(maxima.before_tile, at_query, factors);
  }
  // Computes the factor that rescales the sums before the tile to the maximum at its end.
  A decay_over_tile(causal_maxima<A> const& maxima) const {
    if (maxima.at_row == nullptr) return A(1);
    A factor[linear_tile] = {maxima.before_tile - maxima.at_end()};
    kernels.exponentiate(factor, product_columns);
    return factor[0];
  }
  // Rescales phi(q) to the running maximum before the tile, and phi(k) to the maximum at its end.
  A const* rescale_queries(causal_maxima<A> const& maxima, causal_rows const& rows) const {
    return rescale(memory.queries.phi, width.features, rows.queries, maxima.at_row,
                   [&](A* factors) { compute_query_factors(maxima, rows, factors); });
  }
  A const* rescale_keys(causal_maxima<A> const& maxima, causal_rows const& rows) const {
    return rescale(memory.keys.phi, width.features, rows.keys, maxima.at_row, [&](A* factors) {
      compute_factors_to_end(maxima.at_row, maxima.at_end(), factors);
    });
  }
  A const* rescale_scaled_dy(causal_maxima<A> const& maxima, causal_rows const& rows) const {
    if (maxima.at_row == nullptr) return memory.scaled_dy;
    A factors[linear_tile];
    compute_query_factors(maxima, rows, factors);
    base::scale_rows({memory.scaled_dy, width.values}, rows.queries, factors, memory.results);
    return memory.results;
  }
  // Rescales the values to the maximum at the end of the tile. Returns the factors.
  A const* rescale_values(causal_maxima<A> const& maxima, causal_rows const& rows,
                          pitched_rows<A const>& values) const {
    if (maxima.at_row == nullptr) return memory.keys.ones;
    compute_factors_to_end(maxima.at_row, maxima.at_end(), memory.factors);
    base::scale_rows(values, rows.keys, memory.factors, memory.rescaled_values);
    values = {memory.rescaled_values, width.values};
    return memory.factors;
  }

  // Transpose the features and values of the tile's keys for the products with queries.
  void transpose_features(causal_rows const& rows) const {
    A* const phi = memory.keys.phi;
    index_t const pitch = width.features;
    std::fill(phi + rows.keys * pitch, phi + tile * pitch, A(0));
    kernels.transpose(phi, pitch, tile, pitch, memory.transposed_phi, tile);
  }
  void transpose_values(pitched_rows<A const> values) const {
    kernels.transpose(values.data, values.pitch, tile, width.values, memory.transposed_values,
                      tile);
  }
  // weights[i][j] = <phi(q_i), phi(k_j)>, in all blocks that contain a key j the query i sees.
  void compute_weights(causal_rows const& rows) const {
    multiply_query_key_pairs(memory.queries.phi, width.features, base::shape.feature.count,
                             memory.transposed_phi, memory.weights, rows);
  }
  // weight_grads[i][j] = <g_i, v_j>, in the same blocks.
  void compute_weight_grads(causal_rows const& rows) const {
    multiply_query_key_pairs(memory.scaled_dy, width.values, base::shape.values,
                             memory.transposed_values, memory.weight_grads, rows);
  }
  void mask(A* weights, A const* addends, causal_maxima<A> const& maxima,
            causal_rows const& rows) const {
    kernels.mask_weights({weights, rows.queries, addends, maxima.at_row, rows.first_query});
  }

  // sums += weights * keys, where row i sums the keys up to i.
  void add_keys(A const* weights, pitched_rows<A const> keys, A* sums, index_t pitch,
                causal_rows const& rows) const {
    if (kernels.has_non_finite(keys, {rows.keys, pitch})) {
      for (int i = 0; i < rows.queries; ++i)
        for (int j = 0; j <= i + rows.first_query && j < rows.keys; ++j)
          add_row(weights[i * tile + j], keys.data + j * keys.pitch, sums + i * pitch, pitch);
      return;
    }
    for (int i = 0; i < rows.queries; i += product_rows) {
      product_params<A> product{{weights + i * tile, tile, 1},
                                keys,
                                {sums + i * pitch, pitch},
                                {product_rows, static_cast<int>(pitch),
                                 std::min(i + rows.first_query + product_rows, rows.keys)}};
      product.epilogue.accumulate = true;
      base::multiply(product);
    }
  }
  // sums += weights^T * queries, where row j sums the queries that see key j.
  void add_queries(A const* weights, A const* queries, index_t pitch, A* sums,
                   causal_rows const& rows) const {
    if (kernels.has_non_finite({queries, pitch}, {rows.queries, pitch})) {
      for (int j = 0; j < rows.keys; ++j)
        for (int i = first_query_of(j, rows); i < rows.queries; ++i)
          add_row(weights[i * tile + j], queries + i * pitch, sums + j * pitch, pitch);
      return;
    }
    for (int j = 0; j < std::min(rows.keys, rows.queries + rows.first_query); j += product_rows) {
      int const i = first_query_of(j, rows);
      product_params<A> product{{weights + i * tile + j, 1, tile},
                                {queries + i * pitch, pitch},
                                {sums + j * pitch, pitch},
                                {product_rows, static_cast<int>(pitch), rows.queries - i}};
      product.epilogue.accumulate = true;
      base::multiply(product);
    }
  }
  // Adds the sums of the weights in the tile to memory.weight_sums.
  void add_weight_sums(causal_rows const& rows) const {
    for (int i = 0; i < rows.queries; i += product_columns) {
      int const count = std::min(rows.queries - i, product_columns);
      A sums[product_columns];
      kernels.compute_row_dots({{memory.weights + i * tile, tile},
                                {memory.keys.ones, 0},
                                {count, weight_columns(i, rows.queries, rows.first_query)},
                                sums});
      for (int l = 0; l < count; ++l) memory.weight_sums[i + l] += sums[l];
    }
  }
  // Computes Z after each key into memory.running_z.
  void compute_running_z(causal_maxima<A> const& maxima, causal_rows const& rows) const {
    A decay[linear_tile];
    if (maxima.at_row != nullptr) {
      for (int i = 0; i < tile; ++i)
        decay[i] = (i == 0 ? maxima.before_tile : maxima.at_row[i - 1]) - maxima.at_row[i];
      kernels.exponentiate(decay, tile);
    }
    kernels.compute_running_sums({memory.key_sums.row,
                                  {memory.keys.phi, width.features},
                                  {rows.first_query + rows.queries, width.features},
                                  {rows.keys, maxima.at_row == nullptr ? nullptr : decay},
                                  memory.running_z});
  }

  // Z of the first query of the tile.
  A* running_z(causal_rows const& rows) const {
    return memory.running_z + rows.first_query * width.features;
  }

 private:
  // First query of the tile that sees key j.
  static int first_query_of(int j, causal_rows const& rows) {
    return std::max(j - rows.first_query, 0);
  }
  // Adds one row, times a factor. Needed for rows with infinities or NaN, because a product would
  // multiply masked rows by 0, and 0 times infinity is NaN.
  void add_row(A factor, A const* row, A* sums, index_t columns) const {
    kernels.add_scaled_rows({{row, 0}, {1, columns}, &factor, {sums, columns}});
  }
  void multiply_query_key_pairs(A const* queries, index_t pitch, index_t depth,
                                A const* transposed_keys, A* weights,
                                causal_rows const& rows) const {
    for (int i = 0; i < rows.queries; i += product_columns)
      base::multiply({{queries + i * pitch, pitch, 1},
                      {transposed_keys, tile},
                      {weights + i * tile, tile},
                      {static_cast<int>(padded_rows(std::min(rows.queries - i, product_columns))),
                       weight_columns(i, rows.queries, rows.first_query), depth}});
  }
  template <class Factors>
  A const* rescale(A const* phi, index_t columns, int rows, A const* maxima,
                   Factors const& compute_factors) const {
    if (maxima == nullptr) return phi;
    A factors[linear_tile];
    compute_factors(factors);
    base::scale_rows({phi, columns}, rows, factors, memory.rescaled_features);
    return memory.rescaled_features;
  }
};

SLICESORT_DETAIL_END
