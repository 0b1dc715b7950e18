// SPDX-License-Identifier: Apache-2.0
// linear_attention of one head on the host, where every query looks at every key: sums over the
// keys, then the queries; backward then the keys again.
#pragma once

#include <slicesort/detail/linear_attention/host/state.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <limits>

SLICESORT_DETAIL_BEGIN

template <class T, class Call>
class linear_noncausal : linear_task<T> {
  using base = linear_task<T>;
  using base::tile, base::use, base::io, base::width, base::m, base::head, base::features;
  using typename base::A;

 public:
  linear_noncausal(Call const& call, linear_setting<T> const& of, linear_slot<A> const& slot,
                   index_t pair)
      : base(of, slot, pair), p_(call) {
    features.load_w(p_.in.w);
  }

  static void forward(head_group<linear_noncausal>& heads, tensor4<T> y) {
    sum_keys(heads);
    heads.each_tile(heads.first().head.queries,
                    [&](linear_noncausal& one, index_t first) { one.find_results(y, first); });
    heads.each([&](linear_noncausal& one) {
      one.io.clear(one.head, y, one.head.queries, one.base::shape.queries, grad_mode::overwrite);
    });
  }

  static void backward(head_group<linear_noncausal>& heads, tensor4<T const> dy,
                       linear_attention_gradients<T> const& to, grad_mode mode) {
    sum_keys(heads);
    heads.each([](linear_noncausal& one) {
      one.m.gradients.clear(one.width);
      one.transpose(one.m.sums);
    });
    heads.each_tile(heads.first().head.queries, [&](linear_noncausal& one, index_t first) {
      one.pull_queries(dy, to, mode, first);
    });
    heads.each([](linear_noncausal& one) { one.transpose(one.m.gradients); });
    heads.each_tile(heads.first().head.keys,
                    [&](linear_noncausal& one, index_t first) { one.pull_keys(to, mode, first); });
    heads.each([&](linear_noncausal& one) { one.clear_rest_of(to, mode); });
  }

 private:
  static void sum_keys(head_group<linear_noncausal>& heads) {
    index_t const keys = heads.first().head.keys;
    if (heads.first().has_maximum()) {
      heads.each(
          [](linear_noncausal& one) { *one.m.maxima = -std::numeric_limits<A>::infinity(); });
      heads.each_tile(keys, [](linear_noncausal& one, index_t first) { one.find_maximum(first); });
    }
    heads.each_tile(keys, [](linear_noncausal& one, index_t first) { one.add_keys(first); });
  }
  void add_keys(index_t first) const {
    int const rows = base::rows_of_tile(first, head.keys);
    map_keys(first, rows, false);
    auto const values = base::load_values(p_.in.v, first, rows, rows);
    base::add_tile(m.sums, m.keys.phi, values, m.keys.ones, rows, A(1));
  }
  void find_maximum(index_t first) const {
    int const rows = base::rows_of_tile(first, head.keys);
    features.load(m.keys, p_.in.k, first, rows);
    features.find_maxima(m.keys, rows);
    for (int i = 0; i < rows; ++i)
      if (*m.maxima < m.keys.row.maximum[i]) *m.maxima = m.keys.row.maximum[i];
  }
  void find_results(tensor4<T> y, index_t first) const {
    int const rows = base::rows_of_tile(first, head.queries);
    base::map_queries(p_.in.q, first, rows, false);
    base::dot_features(m.queries.phi, m.sums.row, 0, rows, m.d);
    base::divide(rows, m.c);
    base::multiply_rows({m.queries.phi, width.features}, base::shape.feature.count,
                        {m.sums.matrix, width.values}, m.results, width.values, rows);
    base::store_divided(y, first, rows);
  }
  void map_keys(index_t first, int rows, bool slopes) const {
    if (!base::has_maximum()) return features.load_and_map(m.keys, p_.in.k, first, rows, slopes);
    features.load(m.keys, p_.in.k, first, rows);
    std::fill(m.keys.row.maximum, m.keys.row.maximum + tile, *m.maxima);
    features.map(m.keys, first, rows, slopes);
  }

  void pull_queries(tensor4<T const> dy, linear_attention_gradients<T> const& to, grad_mode mode,
                    index_t first) const {
    int const rows = base::rows_of_tile(first, head.queries);
    auto const& q = m.queries;
    base::map_queries(p_.in.q, first, rows, true);
    base::dot_features(q.phi, m.sums.row, 0, rows, m.d);
    base::divide(rows, m.c);
    base::load_gradient(dy, first, rows);
    base::multiply_rows({m.of_queries, width.values}, base::shape.values,
                        {m.sums.transposed, width.features}, q.dphi, width.features, rows);
    base::dot_gradient(q.phi, q.dphi, rows);
    for (int i = 0; i < rows; ++i) m.c[i] = -(m.c[i] * m.d[i]);
    base::add_tile(m.gradients, q.phi, {m.of_queries, width.values}, m.c, rows, A(1));
    if (to.dq.data() == nullptr && to.dw.data() == nullptr) return;
    base::add_features({m.sums.row, 0}, rows, m.c, q.dphi);
    features.pull(q, first, rows, to.dq, mode);
  }

  void pull_keys(linear_attention_gradients<T> const& to, grad_mode mode, index_t first) const {
    int const rows = base::rows_of_tile(first, head.keys);
    auto const& k = m.keys;
    map_keys(first, rows, true);
    if (to.dv.data() != nullptr) {
      base::multiply_rows({k.phi, width.features}, base::shape.feature.count,
                          {m.gradients.matrix, width.values}, m.results, width.values, rows);
      base::store_results(to.dv, first, rows, mode);
    }
    if (to.dk.data() == nullptr && to.dw.data() == nullptr) return;
    auto const values =
        base::load_values(p_.in.v, first, rows, static_cast<int>(padded_rows(rows)));
    base::multiply_rows(values, base::shape.values, {m.gradients.transposed, width.features},
                        k.dphi, width.features, rows);
    base::add_features({m.gradients.row, 0}, rows, k.ones, k.dphi);
    features.pull(k, first, rows, to.dk, mode);
  }

  Call const& p_;
};

SLICESORT_DETAIL_END
