// SPDX-License-Identifier: Apache-2.0
// linear_attention of one head on the host, where a query looks at the keys up to its own: tile by
// tile, with the sums of the tiles before and weights within the tile; backward a second time from
// the last tile to the first.
#pragma once

#include <slicesort/detail/linear_attention/host/causal_tile.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/problem.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class T, class Call>
class linear_causal : causal_tiles<T> {
  using base = causal_tiles<T>;
  using base::tile, base::use, base::io, base::width, base::m, base::head, base::features;
  using typename base::A;

 public:
  linear_causal(Call const& call, linear_setting<T> const& of, linear_slot<A> const& slot,
                index_t pair)
      : base(of, slot, pair), p_(call) {
    features.load_w(p_.in.w);
  }

  void forward(tensor4<T> y) const {
    causal_maxima<A> running = base::no_maxima();
    for (index_t first = 0; first < head.queries; first += tile) {
      causal_rows const rows = base::rows_of(first, head.queries);
      map_tile(rows, running, false);
      auto const values = base::load_values(p_.in.v, first, rows.keys, rows.keys);
      A const* const weighted = base::weigh_queries(running, rows);
      base::multiply_rows({weighted, width.features}, base::shape.feature.count,
                          {m.sums.matrix, width.values}, m.results, width.values, rows.queries);
      base::dot_features(weighted, m.sums.row, 0, rows.queries, m.d);
      base::form_weights(m.queries.phi, width.features, base::shape.feature.count, m.weights, rows);
      base::mask(m.weights, nullptr, running, rows);
      base::add_keys(m.weights, values, m.results, width.values, rows);
      base::add_sums_of_weights(rows);
      base::divide(rows.queries, m.c);
      base::store_divided(y, first, rows.queries);
      if (first + tile < head.queries) add_keys_to_sums(running, rows, values);
      running.end_tile();
    }
    io.clear(head, y, head.queries, base::shape.queries, grad_mode::overwrite);
  }

  void backward(tensor4<T const> dy, linear_attention_gradients<T> const& to,
                grad_mode mode) const {
    m.gradients.clear(width);
    causal_maxima<A> running = base::no_maxima();
    index_t const length = head.longer();
    for (index_t first = 0; first < length; first += tile)
      if (first < head.queries)
        pull_queries(dy, to, mode, first, running);
      else
        find_maxima(base::rows_of(first, head.queries), running);
    io.clear(head, to.dq, head.queries, base::shape.queries, mode);
    for (index_t first = (length + tile - 1) / tile * tile; (first -= tile) >= 0;)
      pull_keys(dy, to, mode, first);
    io.clear(head, to.dk, head.keys, base::shape.keys, mode);
    io.clear(head, to.dv, head.keys, base::shape.keys, mode);
  }

 private:
  // Features of a tile's keys and queries. `running` is told the maxima of its keys.
  void map_tile(causal_rows const& rows, causal_maxima<A>& running, bool slopes) const {
    load_keys(rows, running);
    features.map(m.keys, rows.first, rows.keys, slopes);
    map_queries(rows, slopes);
  }
  void load_keys(causal_rows const& rows, causal_maxima<A>& running) const {
    features.load(m.keys, p_.in.k, rows.first, rows.keys);
    if (!base::has_maximum()) return;
    features.find_maxima(m.keys, rows.keys);
    running.begin_tile(m.keys.row.maximum, rows.keys);
  }
  // Of the keys of a tile that no query looks at: what their features are relative to.
  void find_maxima(causal_rows const& rows, causal_maxima<A>& running) const {
    if (!base::has_maximum()) return;
    load_keys(rows, running);
    keep_maxima(rows, running);
    running.end_tile();
  }
  // For the pass from the last tile to the first.
  void keep_maxima(causal_rows const& rows, causal_maxima<A> const& running) const {
    if (base::has_maximum())
      std::copy(running.of_key, running.of_key + rows.keys, m.maxima + rows.first);
  }
  void map_queries(causal_rows const& rows, bool slopes) const {
    features.load(m.queries, p_.in.q, rows.first, rows.queries);
    if (base::has_maximum()) features.find_maxima(m.queries, rows.queries);
    features.map(m.queries, rows.first, rows.queries, slopes);
  }
  void add_keys_to_sums(causal_maxima<A> const& running, causal_rows const& rows,
                        pitched_rows<A const> values) const {
    base::add_tile(m.sums, base::weigh_keys(running, rows), values, m.keys.ones, rows.keys,
                   base::kept(running));
  }
  void pull_queries(tensor4<T const> dy, linear_attention_gradients<T> const& to, grad_mode mode,
                    index_t first, causal_maxima<A>& running) const {
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const &q = m.queries, &k = m.keys;
    map_tile(rows, running, true);
    keep_maxima(rows, running);
    auto const values = base::load_values(p_.in.v, first, rows.keys, tile);
    base::run_sums(running, rows);
    base::dot_features(q.phi, m.running, width.features, rows.queries, m.d);
    base::divide(rows.queries, m.c);
    base::load_gradient(dy, rows.first, rows.queries);

    base::form_products(values, rows);
    base::mask(m.products, nullptr, running, rows);
    A const* const weighted = base::weigh_gradient(running, rows);
    base::multiply_rows({weighted, width.values}, base::shape.values,
                        {m.sums.transposed, width.features}, q.dphi, width.features, rows.queries);
    base::add_keys(m.products, {k.phi, width.features}, q.dphi, width.features, rows);
    base::dot_gradient(q.phi, q.dphi, rows.queries);
    for (int i = 0; i < rows.queries; ++i) {
      m.c[i] = -(m.c[i] * m.d[i]);
      m.inverses[first + i] = m.inverse[i];
      m.cs[first + i] = m.c[i];
    }
    if (to.dq.data() != nullptr || to.dw.data() != nullptr) {
      base::add_features({m.running, width.features}, rows.queries, m.c, q.dphi);
      features.pull(q, first, rows.queries, to.dq, mode);
    }
    if (first + tile < head.queries) {
      add_keys_to_sums(running, rows, values);
      base::transpose(m.sums);
    }
    running.end_tile();
  }

  void pull_keys(tensor4<T const> dy, linear_attention_gradients<T> const& to, grad_mode mode,
                 index_t first) const {
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const& k = m.keys;
    causal_maxima<A> const running = base::maxima_of(rows);
    std::copy_n(m.inverses + first, rows.queries, m.inverse);
    std::copy_n(m.cs + first, rows.queries, m.c);
    map_queries(rows, false);
    base::load_gradient(dy, rows.first, rows.queries);
    if (rows.keys > 0) {
      features.load(k, p_.in.k, first, rows.keys);
      if (base::has_maximum()) std::copy_n(running.of_key, tile, k.row.maximum);
      features.map(k, first, rows.keys, true);
      if (to.dv.data() != nullptr) pull_values(to.dv, mode, running, rows);
      if (to.dk.data() != nullptr || to.dw.data() != nullptr) {
        pull_features(running, rows);
        features.pull(k, first, rows.keys, to.dk, mode);
      }
    }
    if (first == 0) return;
    base::add_tile(m.gradients, base::weigh_queries(running, rows), {m.of_queries, width.values},
                   m.c, rows.queries, base::kept(running));
    base::transpose(m.gradients);
  }
  void pull_values(tensor4<T> dv, grad_mode mode, causal_maxima<A> const& running,
                   causal_rows const& rows) const {
    base::form_weights(m.queries.phi, width.features, base::shape.feature.count, m.weights, rows);
    base::mask(m.weights, nullptr, running, rows);
    base::multiply_rows({base::weigh_keys(running, rows), width.features},
                        base::shape.feature.count, {m.gradients.matrix, width.values}, m.results,
                        width.values, rows.keys);
    base::add_queries(m.weights, m.of_queries, width.values, m.results, rows);
    base::store_results(dv, rows.first, rows.keys, mode);
  }
  void pull_features(causal_maxima<A> const& running, causal_rows const& rows) const {
    auto values = base::load_values(p_.in.v, rows.first, rows.keys, tile);
    base::form_products(values, rows);
    base::mask(m.products, m.c, running, rows);
    A const* const factors = base::weigh_values(running, rows, values);
    base::multiply_rows(values, base::shape.values, {m.gradients.transposed, width.features},
                        m.keys.dphi, width.features, rows.keys);
    base::add_queries(m.products, m.queries.phi, width.features, m.keys.dphi, rows);
    base::add_features({m.gradients.row, 0}, rows.keys, factors, m.keys.dphi);
  }

  Call const& p_;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
