// SPDX-License-Identifier: Apache-2.0
// The memory of materialized attention on the host.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/matrix_product.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/softmax_attention/host/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T>
struct attention_map_slot {
  using A = accumulator_t<T>;
  A* map;                                          // [query][key]
  A* row;                                          // [key]
  A *rows, *dy_transposed, *y_transposed, *delta;  // of a tile of queries
  std::uint64_t* allowed;
  attention_ranges* ranges;
  matrix_product<T> product;

  attention_map_slot(arena& a, attention_shape s, index_t queries)
      : product(a, std::max({s.queries, s.keys, s.channels, s.values})) {
    constexpr index_t lanes = attention_queries;
    auto const take = [&](amount n) { return a.take<A>(n); };
    amount const values = amount(lanes) * s.values;
    map = take(amount(queries) * s.keys), row = take(s.keys);
    rows = take(values), delta = take(lanes);
    dy_transposed = take(values), y_transposed = take(values);
    allowed = a.take<std::uint64_t>(attention_keys);
    ranges = a.take<attention_ranges>(1);
  }
};

// Workspace of a call.
template <class T>
struct attention_map_layout {
  accumulator_t<T>* distance_sums;
  per_thread<attention_map_slot<T>, attention_shape, index_t> each;

  attention_map_layout(arena& a, host_exec const& exec, attention_shape const& s)
      : distance_sums(take_distance_sums<accumulator_t<T>>(a, s)),
        each(a, exec.threads, amount(s.empty() ? 0 : s.batch) * s.heads, s, s.queries) {}
};

// Of the pass after it, for the gradient of a bias that is shared: maps of a tile of queries.
template <class T>
struct shared_bias_map_slot {
  attention_map_slot<T> map;
  shared_sums<accumulator_t<T>> total;

  shared_bias_map_slot(arena& a, attention_shape s)
      : map(a, s, std::min<index_t>(s.queries, attention_queries)), total(a, s) {}
};
template <class T>
struct shared_bias_map_layout {
  index_t tasks;
  per_thread<shared_bias_map_slot<T>, attention_shape> each;

  shared_bias_map_layout(arena& a, host_exec const& exec, attention_shape const& s)
      : tasks(tasks_of_shared(s)), each(a, exec.threads, tasks, s) {}
};

SLICESORT_DETAIL_END
