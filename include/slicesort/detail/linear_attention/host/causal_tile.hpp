// SPDX-License-Identifier: Apache-2.0
// Steps for one tile of causal linear attention: weights of its pairs, and running maxima of its
// keys for random_exp.
#pragma once

#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Valid rows of a tile.
struct causal_rows {
  index_t first;
  int queries, keys;
};

// Running maxima of the keys of a tile, and the maximum before the tile. Rows past the last key
// repeat its maximum.
template <class A>
struct causal_maxima {
  A* rows;  // null if the features have no maximum
  A before = A(0);
  bool started = false;  // true if an earlier tile had keys

  A end() const { return rows[linear_tile - 1]; }
  // Replaces the row maxima of the tile's keys by running maxima.
  void begin_tile(A* maxima, int keys) {
    rows = maxima;
    if (!started && keys > 0) before = rows[0], started = true;
    A running = before;
    for (int j = 0; j < linear_tile; ++j) {
      if (j < keys) running = running < rows[j] ? rows[j] : running;
      rows[j] = running;
    }
  }
  void end_tile() {
    if (rows != nullptr) before = end();
  }
};

template <class T>
struct causal_tiles : linear_task<T> {
  using base = linear_task<T>;

  using base::base;
  using base::tile, base::kernels, base::width, base::memory, base::head, base::has_maximum;
  using typename base::A;

  causal_rows rows_of(index_t first, index_t queries) const {
    return {first, base::rows_of_tile(first, queries), base::rows_of_tile(first, head.keys)};
  }
  // Running maxima of a tile, as saved by the first pass.
  causal_maxima<A> maxima_of(causal_rows const& rows) const {
    causal_maxima<A> running{nullptr};
    if (!has_maximum() || head.keys == 0) return running;
    running.rows = memory.d;  // unused in this pass
    for (int j = 0; j < tile; ++j)
      running.rows[j] = memory.maxima[std::min(rows.first + j, head.keys - 1)];
    index_t const last = std::min(rows.first, head.keys) - 1;
    running.before = memory.maxima[std::max<index_t>(last, 0)];
    running.started = true;
    return running;
  }

  // Computes exp(maxima[j] - end), or exp(before - maxima[j]) for factors_from_start.
  void factors_to_end(A const* maxima, A end, A* factors) const {
    for (int j = 0; j < tile; ++j) factors[j] = maxima[j] - end;
    kernels.exponentials(factors, tile);
  }
  void factors_from_start(A before, A const* maxima, A* factors) const {
    for (int j = 0; j < tile; ++j) factors[j] = before - maxima[j];
    kernels.exponentials(factors, tile);
  }
  // Factor that rescales the sums before the tile to the maximum at its end.
  A decay(causal_maxima<A> const& running) const {
    if (running.rows == nullptr) return A(1);
    A factor[linear_tile] = {running.before - running.end()};
    kernels.exponentials(factor, product_columns);
    return factor[0];
  }
  // Rescales phi(q) by the running maximum before the tile, and phi(k) by the one at its end.
  A const* rescaled_queries(causal_maxima<A> const& running, causal_rows const& rows) const {
    return rescaled(memory.queries.phi, width.features, rows.queries, running.rows,
                    [&](A* factors) { factors_from_start(running.before, running.rows, factors); });
  }
  A const* rescaled_keys(causal_maxima<A> const& running, causal_rows const& rows) const {
    return rescaled(memory.keys.phi, width.features, rows.keys, running.rows,
                    [&](A* factors) { factors_to_end(running.rows, running.end(), factors); });
  }
  A const* rescaled_gradient(causal_maxima<A> const& running, causal_rows const& rows) const {
    if (running.rows == nullptr) return memory.g;
    A factors[linear_tile];
    factors_from_start(running.before, running.rows, factors);
    base::scale({memory.g, width.values}, rows.queries, factors, memory.results);
    return memory.results;
  }
  // Rescales the values to the maximum at the end of the tile. Returns the factors.
  A const* rescaled_values(causal_maxima<A> const& running, causal_rows const& rows,
                           pitched_rows<A const>& values) const {
    if (running.rows == nullptr) return memory.keys.ones;
    factors_to_end(running.rows, running.end(), memory.factors);
    base::scale(values, rows.keys, memory.factors, memory.weighted_values);
    values = {memory.weighted_values, width.values};
    return memory.factors;
  }

  // weights[i][j] = <phi(q_i), phi(k_j)>, in all blocks that contain a key j <= i.
  void compute_weights(A const* queries, index_t pitch, index_t depth, A* weights,
                       causal_rows const& rows) const {
    A* const phi = memory.keys.phi;
    std::fill(phi + rows.keys * pitch, phi + tile * pitch, A(0));
    kernels.transposed(phi, pitch, tile, pitch, memory.transposed_phi, tile);
    multiply_pairs(queries, pitch, depth, memory.transposed_phi, weights, rows);
  }
  // weight_gradients[i][j] = <g_i, v_j>, in the same blocks.
  void compute_weight_gradients(pitched_rows<A const> values, causal_rows const& rows) const {
    kernels.transposed(values.data, values.pitch, tile, width.values, memory.transposed_values,
                       tile);
    multiply_pairs(memory.g, width.values, base::shape.values, memory.transposed_values,
                   memory.weight_gradients, rows);
  }
  void mask(A* weights, A const* addends, causal_maxima<A> const& running,
            causal_rows const& rows) const {
    kernels.causal_weights({weights, rows.queries, addends, running.rows});
  }

  // sums += pairs * keys, where row i sums the keys up to i.
  void add_keys(A const* pairs, pitched_rows<A const> keys, A* sums, index_t pitch,
                causal_rows const& rows) const {
    if (kernels.has_special(keys, {rows.keys, pitch})) {
      for (int i = 0; i < rows.queries; ++i)
        for (int j = 0; j <= i && j < rows.keys; ++j)
          add_row(pairs[i * tile + j], keys.data + j * keys.pitch, sums + i * pitch, pitch);
      return;
    }
    for (int i = 0; i < rows.queries; i += product_rows) {
      product_params<A> product{
          {pairs + i * tile, tile, 1},
          keys,
          {sums + i * pitch, pitch},
          {product_rows, static_cast<int>(pitch), std::min(i + product_rows, rows.keys)}};
      product.epilogue.accumulate = true;
      base::multiply(product);
    }
  }
  // sums += pairs^T * queries, where row j sums the queries from j on.
  void add_queries(A const* pairs, A const* queries, index_t pitch, A* sums,
                   causal_rows const& rows) const {
    if (kernels.has_special({queries, pitch}, {rows.queries, pitch})) {
      for (int j = 0; j < rows.keys; ++j)
        for (int i = j; i < rows.queries; ++i)
          add_row(pairs[i * tile + j], queries + i * pitch, sums + j * pitch, pitch);
      return;
    }
    for (int j = 0; j < std::min(rows.keys, rows.queries); j += product_rows) {
      product_params<A> product{{pairs + j * tile + j, 1, tile},
                                {queries + j * pitch, pitch},
                                {sums + j * pitch, pitch},
                                {product_rows, static_cast<int>(pitch), rows.queries - j}};
      product.epilogue.accumulate = true;
      base::multiply(product);
    }
  }
  // Adds the sum of each query's weights to memory.d.
  void add_sums_of_weights(causal_rows const& rows) const {
    for (int i = 0; i < rows.queries; i += product_columns) {
      int const count = std::min(rows.queries - i, product_columns);
      A sums[product_columns];
      kernels.row_dots({{memory.weights + i * tile, tile},
                        {memory.keys.ones, 0},
                        {count, i + product_columns},
                        sums});
      for (int l = 0; l < count; ++l) memory.d[i + l] += sums[l];
    }
  }
  // Computes Z of each query.
  void compute_running_sums(causal_maxima<A> const& running, causal_rows const& rows) const {
    A decay[linear_tile];
    if (running.rows != nullptr) {
      for (int i = 0; i < tile; ++i)
        decay[i] = (i == 0 ? running.before : running.rows[i - 1]) - running.rows[i];
      kernels.exponentials(decay, tile);
    }
    kernels.running_sums({memory.sums.row,
                          {memory.keys.phi, width.features},
                          {rows.queries, width.features},
                          {rows.keys, running.rows == nullptr ? nullptr : decay},
                          memory.running});
  }

 private:
  // Adds one row, times a factor. Blocks on the diagonal are added pair by pair, because a product
  // would multiply masked rows by 0, and 0 times infinity is NaN.
  void add_row(A factor, A const* row, A* sums, index_t columns) const {
    kernels.add_rows_times({{row, 0}, {1, columns}, &factor, {sums, columns}});
  }
  void multiply_pairs(A const* queries, index_t pitch, index_t depth, A const* lanes, A* weights,
                      causal_rows const& rows) const {
    for (int i = 0; i < rows.queries; i += product_columns)
      base::multiply({{queries + i * pitch, pitch, 1},
                      {lanes, tile},
                      {weights + i * tile, tile},
                      {static_cast<int>(padded_rows(std::min(rows.queries - i, product_columns))),
                       i + product_columns, depth}});
  }
  template <class Factors>
  A const* rescaled(A const* phi, index_t columns, int rows, A const* maxima,
                    Factors const& compute) const {
    if (maxima == nullptr) return phi;
    A factors[linear_tile];
    compute(factors);
    base::scale({phi, columns}, rows, factors, memory.weighted);
    return memory.weighted;
  }
};

SLICESORT_DETAIL_END
