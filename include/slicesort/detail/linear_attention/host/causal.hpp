// SPDX-License-Identifier: Apache-2.0
// linear_attention of one head on the host, where a query looks at the keys up to its own: tile by
// tile, with the sums of the tiles before and weights within the tile; backward a second time from
// the last tile to the first.
#pragma once

#include <slicesort/detail/linear_attention/host/causal_tile.hpp>
#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

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

  static void forward(head_group<linear_causal>& heads, tensor4<T> y) {
    heads.each_tile(heads.first().head.queries,
                    [&](linear_causal& one, index_t first) { one.find_results(y, first); });
    heads.each([&](linear_causal& one) {
      one.io.clear(one.head, y, one.head.queries, one.base::shape.queries, grad_mode::overwrite);
    });
  }

  static void backward(head_group<linear_causal>& heads, tensor4<T const> dy,
                       linear_attention_gradients<T> const& to, grad_mode mode) {
    heads.each([](linear_causal& one) { one.m.gradients.clear(one.width); });
    index_t const queries = heads.first().head.queries, length = heads.first().head.longer();
    heads.each_tile(length, [&](linear_causal& one, index_t first) {
      if (first < queries)
        one.pull_queries(dy, to, mode, first);
      else
        one.find_maxima(first);
    });
    heads.each_tile_back(
        length, [&](linear_causal& one, index_t first) { one.pull_keys(dy, to, mode, first); });
    heads.each([&](linear_causal& one) { one.clear_rest_of(to, mode); });
  }

 private:
  void find_results(tensor4<T> y, index_t first) {
    causal_rows const rows = base::rows_of(first, head.queries);
    map_tile(rows, false);
    auto const values = base::load_values(p_.in.v, first, rows.keys, rows.keys);
    A const* const weighted = base::weigh_queries(running_, rows);
    base::multiply_rows({weighted, width.features}, base::shape.feature.count,
                        {m.sums.matrix, width.values}, m.results, width.values, rows.queries);
    base::dot_features(weighted, m.sums.row, 0, rows.queries, m.d);
    base::form_weights(m.queries.phi, width.features, base::shape.feature.count, m.weights, rows);
    base::mask(m.weights, nullptr, running_, rows);
    base::add_keys(m.weights, values, m.results, width.values, rows);
    base::add_sums_of_weights(rows);
    base::divide(rows.queries, m.c);
    base::store_divided(y, first, rows.queries);
    if (first + tile < head.queries) add_keys_to_sums(rows, values);
    running_.end_tile();
  }
  // Features of a tile's keys and queries. `running_` is told the maxima of its keys.
  void map_tile(causal_rows const& rows, bool slopes) {
    if (base::has_maximum()) {
      load_keys(rows);
      features.map(m.keys, rows.first, rows.keys, slopes);
    } else {
      features.load_and_map(m.keys, p_.in.k, rows.first, rows.keys, slopes);
    }
    base::map_queries(p_.in.q, rows.first, rows.queries, slopes);
  }
  void load_keys(causal_rows const& rows) {
    features.load(m.keys, p_.in.k, rows.first, rows.keys);
    features.find_maxima(m.keys, rows.keys);
    running_.begin_tile(m.keys.row.maximum, rows.keys);
  }
  // Of the keys of a tile that no query looks at: what their features are relative to.
  void find_maxima(index_t first) {
    if (!base::has_maximum()) return;
    causal_rows const rows = base::rows_of(first, head.queries);
    load_keys(rows);
    keep_maxima(rows);
    running_.end_tile();
  }
  // For the pass from the last tile to the first.
  void keep_maxima(causal_rows const& rows) const {
    if (base::has_maximum())
      std::copy(running_.of_key, running_.of_key + rows.keys, m.maxima + rows.first);
  }
  void add_keys_to_sums(causal_rows const& rows, pitched_rows<A const> values) const {
    base::add_tile(m.sums, base::weigh_keys(running_, rows), values, m.keys.ones, rows.keys,
                   base::kept(running_));
  }
  void pull_queries(tensor4<T const> dy, linear_attention_gradients<T> const& to, grad_mode mode,
                    index_t first) {
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const &q = m.queries, &k = m.keys;
    map_tile(rows, true);
    keep_maxima(rows);
    auto const values = base::load_values(p_.in.v, first, rows.keys, tile);
    base::run_sums(running_, rows);
    base::dot_features(q.phi, m.running, width.features, rows.queries, m.d);
    base::divide(rows.queries, m.c);
    base::load_gradient(dy, rows.first, rows.queries);

    base::form_products(values, rows);
    base::mask(m.products, nullptr, running_, rows);
    A const* const weighted = base::weigh_gradient(running_, rows);
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
      add_keys_to_sums(rows, values);
      base::transpose(m.sums);
    }
    running_.end_tile();
  }

  void pull_keys(tensor4<T const> dy, linear_attention_gradients<T> const& to, grad_mode mode,
                 index_t first) const {
    causal_rows const rows = base::rows_of(first, head.queries);
    auto const& k = m.keys;
    causal_maxima<A> const running = base::maxima_of(rows);
    std::copy_n(m.inverses + first, rows.queries, m.inverse);
    std::copy_n(m.cs + first, rows.queries, m.c);
    base::map_queries(p_.in.q, first, rows.queries, false);
    base::load_gradient(dy, rows.first, rows.queries);
    if (rows.keys > 0) {
      map_keys_again(running, rows);
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
  // Relative to the maxima of the first pass.
  void map_keys_again(causal_maxima<A> const& running, causal_rows const& rows) const {
    if (!base::has_maximum())
      return features.load_and_map(m.keys, p_.in.k, rows.first, rows.keys, true);
    features.load(m.keys, p_.in.k, rows.first, rows.keys);
    std::copy_n(running.of_key, tile, m.keys.row.maximum);
    features.map(m.keys, rows.first, rows.keys, true);
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
  causal_maxima<A> running_ = base::no_maxima();  // of the first pass
};

SLICESORT_DETAIL_END
