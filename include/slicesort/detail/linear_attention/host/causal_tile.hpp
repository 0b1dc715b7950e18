// SPDX-License-Identifier: Apache-2.0
// What a tile of causal linear attention is made of: weights of its pairs, and the running maximum
// of random_exp's keys.
#pragma once

#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// The valid queries and keys of one tile.
struct causal_rows {
  index_t first;
  int queries, keys;
};

// What the features of the keys of a tile are relative to: of each key, and before the tile. A row
// behind the last key has that of the last key.
template <class A>
struct causal_maxima {
  A* of_key;  // null: there are none
  A before = A(0);
  bool any = false;  // whether there were keys before the tile

  A end() const { return of_key[tile_rows_of_linear - 1]; }
  // Row maxima of the tile's keys become running ones.
  void begin_tile(A* rows, int keys) {
    of_key = rows;
    if (!any && keys > 0) before = rows[0], any = true;
    A most = before;
    for (int j = 0; j < tile_rows_of_linear; ++j) {
      if (j < keys) most = most < rows[j] ? rows[j] : most;
      rows[j] = most;
    }
  }
  void end_tile() {
    if (of_key != nullptr) before = end();
  }
};

template <class T>
class causal_tiles : protected linear_task<T> {
  using base = linear_task<T>;

 protected:
  using base::tile, base::use, base::width, base::m, base::head, base::has_maximum;
  using typename base::A;

  causal_tiles(linear_setting<T> const& of, linear_slot<A> const& slot, index_t pair)
      : base(of, slot, pair) {}

  causal_rows rows_of(index_t first, index_t queries) const {
    return {first, base::rows_of_tile(first, queries), base::rows_of_tile(first, head.keys)};
  }
  causal_maxima<A> no_maxima() const { return {nullptr}; }
  // Those that the first pass kept, put where a tile has them.
  causal_maxima<A> maxima_of(causal_rows const& rows) const {
    causal_maxima<A> of{nullptr};
    if (!has_maximum() || head.keys == 0) return of;
    of.of_key = m.d;  // not needed in this pass
    for (int j = 0; j < tile; ++j) of.of_key[j] = m.maxima[std::min(rows.first + j, head.keys - 1)];
    index_t const last = std::min(rows.first, head.keys) - 1;
    of.before = m.maxima[std::max<index_t>(last, 0)];
    of.any = true;
    return of;
  }

  // Factors exp(a[j] - b) or exp(a - b[j]).
  void factors_below(A const* of, A end, A* to) const {
    for (int j = 0; j < tile; ++j) to[j] = of[j] - end;
    use.exponentials(to, tile);
  }
  void factors_above(A before, A const* of, A* to) const {
    for (int j = 0; j < tile; ++j) to[j] = before - of[j];
    use.exponentials(to, tile);
  }
  // What remains of the sums before the tile behind it.
  A kept(causal_maxima<A> const& running) const {
    if (running.of_key == nullptr) return A(1);
    A factor[tile_rows_of_linear] = {running.before - running.end()};
    use.exponentials(factor, product_columns);
    return factor[0];
  }
  // Features of queries relative to the maximum before the tile, and of keys to that behind it.
  A const* weigh_queries(causal_maxima<A> const& running, causal_rows const& rows) const {
    return weigh(m.queries.phi, width.features, rows.queries, running.of_key,
                 [&](A* factors) { factors_above(running.before, running.of_key, factors); });
  }
  A const* weigh_keys(causal_maxima<A> const& running, causal_rows const& rows) const {
    return weigh(m.keys.phi, width.features, rows.keys, running.of_key,
                 [&](A* factors) { factors_below(running.of_key, running.end(), factors); });
  }
  A const* weigh_gradient(causal_maxima<A> const& running, causal_rows const& rows) const {
    if (running.of_key == nullptr) return m.of_queries;
    A factors[tile_rows_of_linear];
    factors_above(running.before, running.of_key, factors);
    base::scale({m.of_queries, width.values}, rows.queries, factors, m.results);
    return m.results;
  }
  // The values become relative to the maximum behind the tile. Returns their factors.
  A const* weigh_values(causal_maxima<A> const& running, causal_rows const& rows,
                        pitched_rows<A const>& values) const {
    if (running.of_key == nullptr) return m.keys.ones;
    factors_below(running.of_key, running.end(), m.factors);
    base::scale(values, rows.keys, m.factors, m.weighted_values);
    values = {m.weighted_values, width.values};
    return m.factors;
  }

  // weights[i][j] = <phi(q_i), phi(k_j)> for blocks with keys j <= i.
  void form_weights(A const* queries, index_t pitch, index_t depth, A* to,
                    causal_rows const& rows) const {
    A* const phi = m.keys.phi;
    std::fill(phi + rows.keys * pitch, phi + tile * pitch, A(0));
    use.transposed(phi, pitch, tile, pitch, m.lanes, tile);
    multiply_pairs(queries, pitch, depth, m.lanes, to, rows);
  }
  // products[i][j] = <g_i, v_j>, likewise.
  void form_products(pitched_rows<A const> values, causal_rows const& rows) const {
    use.transposed(values.data, values.pitch, tile, width.values, m.lanes_of_values, tile);
    multiply_pairs(m.of_queries, width.values, base::shape.values, m.lanes_of_values, m.products,
                   rows);
  }
  void mask(A* pairs, A const* plus, causal_maxima<A> const& running,
            causal_rows const& rows) const {
    use.causal_weights({pairs, rows.queries, plus, running.of_key});
  }

  // to += pairs * keys, row i of which is summed over the keys up to i.
  void add_keys(A const* pairs, pitched_rows<A const> keys, A* to, index_t pitch,
                causal_rows const& rows) const {
    if (use.any_special(keys, {rows.keys, pitch})) {
      for (int i = 0; i < rows.queries; ++i)
        for (int j = 0; j <= i && j < rows.keys; ++j)
          add_row(pairs[i * tile + j], keys.data + j * keys.pitch, to + i * pitch, pitch);
      return;
    }
    for (int i = 0; i < rows.queries; i += product_rows) {
      product_params<A> p{
          {pairs + i * tile, tile, 1},
          keys,
          {to + i * pitch, pitch},
          {product_rows, static_cast<int>(pitch), std::min(i + product_rows, rows.keys)}};
      p.epilogue.accumulate = true;
      base::multiply(p);
    }
  }
  // to += pairs^T * queries, row j of which is summed over the queries from j on.
  void add_queries(A const* pairs, A const* queries, index_t pitch, A* to,
                   causal_rows const& rows) const {
    if (use.any_special({queries, pitch}, {rows.queries, pitch})) {
      for (int j = 0; j < rows.keys; ++j)
        for (int i = j; i < rows.queries; ++i)
          add_row(pairs[i * tile + j], queries + i * pitch, to + j * pitch, pitch);
      return;
    }
    for (int j = 0; j < std::min(rows.keys, rows.queries); j += product_rows) {
      product_params<A> p{{pairs + j * tile + j, 1, tile},
                          {queries + j * pitch, pitch},
                          {to + j * pitch, pitch},
                          {product_rows, static_cast<int>(pitch), rows.queries - j}};
      p.epilogue.accumulate = true;
      base::multiply(p);
    }
  }
  // The sums of weights are added to m.d.
  void add_sums_of_weights(causal_rows const& rows) const {
    for (int i = 0; i < rows.queries; i += product_columns) {
      int const count = std::min(rows.queries - i, product_columns);
      A sums[product_columns];
      use.row_dots(
          {{m.weights + i * tile, tile}, {m.keys.ones, 0}, {count, i + product_columns}, sums});
      for (int l = 0; l < count; ++l) m.d[i + l] += sums[l];
    }
  }
  // Z of every query.
  void run_sums(causal_maxima<A> const& running, causal_rows const& rows) const {
    A kept[tile_rows_of_linear];
    if (running.of_key != nullptr) {
      for (int i = 0; i < tile; ++i)
        kept[i] = (i == 0 ? running.before : running.of_key[i - 1]) - running.of_key[i];
      use.exponentials(kept, tile);
    }
    use.running_sums({m.sums.row,
                      {m.keys.phi, width.features},
                      {rows.queries, width.features},
                      {rows.keys, running.of_key == nullptr ? nullptr : kept},
                      m.running});
  }

 private:
  // Pairs one by one: within the blocks of a product a row that is not looked at counts 0 times,
  // and 0 times infinity is no number.
  void add_row(A factor, A const* row, A* to, index_t columns) const {
    use.add_rows_times({{row, 0}, {1, columns}, &factor, {to, columns}});
  }
  void multiply_pairs(A const* queries, index_t pitch, index_t depth, A const* lanes, A* to,
                      causal_rows const& rows) const {
    for (int i = 0; i < rows.queries; i += product_columns)
      base::multiply({{queries + i * pitch, pitch, 1},
                      {lanes, tile},
                      {to + i * tile, tile},
                      {static_cast<int>(padded_rows(std::min(rows.queries - i, product_columns))),
                       i + product_columns, depth}});
  }
  template <class Factors>
  A const* weigh(A const* phi, index_t columns, int rows, A const* maxima,
                 Factors const& form) const {
    if (maxima == nullptr) return phi;
    A factors[tile_rows_of_linear];
    form(factors);
    base::scale({phi, columns}, rows, factors, m.weighted);
    return m.weighted;
  }
};

SLICESORT_DETAIL_END
