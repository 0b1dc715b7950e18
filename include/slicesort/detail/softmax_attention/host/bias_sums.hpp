// SPDX-License-Identifier: Apache-2.0
// The gradient of a bias that is relative, or that samples or heads share: sums in the
// accumulator's type, in order of samples, in them of heads, in them of queries, rounded once. No
// tensor of all pairs is formed.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/softmax_attention/bias.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// f(pair) for the samples and heads, pair = sample * heads + head, that are summed up to the
// gradient's group number `group`, in order.
template <class F>
void for_each_of_group(attention_shape const& s, index_t group, F const& f) {
  auto const pairs = s.dbias.group_of(group, s.batch, s.heads);
  for (index_t n = 0; n < pairs.count; ++n) f(pairs.first + n * pairs.step);
}
// The first element of a row of a group.
template <class T>
T* row_of_group(tensor4<T> dbias, attention_shape const& s, index_t group, index_t row) {
  strides4 const by = dbias.strides();
  return dbias.data() + group / s.dbias.heads * by.batch + group % s.dbias.heads * by.heads +
         row * by.length;
}

// The sums of each head, [query - key + keys - 1], if the gradient is relative.
template <class A>
A* take_distance_sums(arena& a, attention_shape const& s) {
  bool const none = s.dbias.form != bias_gradient::relative || s.empty();
  return a.take<A>(none ? amount(0) : amount(s.batch) * s.heads * s.distances());
}

// Adds up sums of heads to a relative dbias.
template <class T, class A>
void add_up_distances(host_exec const& exec, row_access<T> const& io, attention_shape const& s,
                      A const* sums, tensor4<T> dbias, grad_mode mode) {
  constexpr index_t some = 512;
  index_t const all = s.distances(), chunks = (all + some - 1) / some,
                step = dbias.strides().channels;
  for_each_task(exec, s.dbias.groups() * chunks, [&](unsigned, index_t task) {
    index_t const group = task / chunks, first = task % chunks * some,
                  count = std::min(some, all - first);
    A total[some] = {};
    for_each_of_group(s, group, [&](index_t pair) {
      A const* const last = sums + pair * all + all - 1 - first;  // of distances they fall
      for (index_t n = 0; n < count; ++n) total[n] += last[-n];
    });
    io.store(total, 0, 1, count, row_of_group(dbias, s, group, 0) + first * step, 0, step, mode);
  });
}

// Without samples or heads, queries or keys, sums are 0.
template <class T>
void clear_sums(tensor4<T> dbias, grad_mode mode) {
  extents4 const e = dbias.extents();
  if (dbias.data() == nullptr || mode == grad_mode::accumulate) return;
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h)
      for (index_t i = 0; i < e.length; ++i)
        for (index_t c = 0; c < e.channels; ++c) dbias(b, h, i, c) = T(0.0F);
}

// The sums of a tile of queries over a group, [key][lane], and which of them any head has.
template <class A>
struct shared_sums {
  A* sums;
  int queries = 0;
  index_t keys = 0;

  shared_sums(arena& a, attention_shape const& s)
      : sums(a.take<A>(amount(s.keys) * attention_queries)) {}

  void clear(index_t all_keys) {
    std::fill_n(sums, all_keys * attention_queries, A(0));
    queries = 0, keys = 0;
  }
  void reach(int valid_queries, index_t valid_keys) {
    queries = std::max(queries, valid_queries), keys = std::max(keys, valid_keys);
  }
  // Stores them in rows from `query` on, with zeros for pairs that no head has.
  template <class T>
  void store(row_access<T> const& io, attention_shape const& s, index_t group, index_t query,
             tensor4<T> dbias, grad_mode mode) const {
    index_t const step = dbias.strides().channels,
                  count = std::min<index_t>(attention_queries, s.queries - query);
    A some[attention_keys];
    for (index_t i = 0; i < count; ++i) {
      T* const to = row_of_group(dbias, s, group, query + i);
      index_t const have = i < queries ? keys : 0;
      for (index_t j = 0; j < have; j += attention_keys) {
        index_t const n = std::min<index_t>(attention_keys, have - j);
        for (index_t c = 0; c < n; ++c) some[c] = sums[(j + c) * attention_queries + i];
        io.store(some, 0, 1, n, to + j * step, 0, step, mode);
      }
      if (mode == grad_mode::overwrite)
        for (index_t j = have; j < s.keys; ++j) to[j * step] = T(0.0F);
    }
  }
};

// A task of the pass that forms them is a tile of queries.
constexpr index_t tiles_of_queries(attention_shape const& s) {
  return (s.queries + attention_queries - 1) / attention_queries;
}
constexpr index_t tasks_of_shared(attention_shape const& s) {
  bool const any = s.dbias.form == bias_gradient::shared && !s.empty();
  return any ? s.dbias.groups() * tiles_of_queries(s) : 0;
}

SLICESORT_DETAIL_END
