// SPDX-License-Identifier: Apache-2.0
// Workspace of materialized attention on the host.
#pragma once

#include <slicesort/detail/attention/host/bias_sums.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/matrix_product.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T>
struct attention_map_workspace {
  using A = accumulator_t<T>;
  A* scores;                                       // [query][key]; later weights or score gradients
  A* row;                                          // [key]
  A *rows, *dy_transposed, *y_transposed, *delta;  // operands of a query tile
  std::uint64_t* lane_bits;                        // [key]: one bit per query of a tile
  attention_ranges* ranges;
  matrix_product<T> product;

  attention_map_workspace(arena& memory, attention_shape shape, index_t queries)
      : product(memory, std::max({shape.queries, shape.keys, shape.channels, shape.values})) {
    constexpr index_t lanes = tile_queries;
    auto const take = [&](amount n) { return memory.take<A>(n); };
    amount const values = amount(lanes) * shape.values;
    scores = take(amount(queries) * shape.keys), row = take(shape.keys);
    rows = take(values), delta = take(lanes);
    dy_transposed = take(values), y_transposed = take(values);
    lane_bits = memory.take<std::uint64_t>(tile_keys);
    ranges = memory.take<attention_ranges>(1);
  }
};

// Gradients of a head of k and v, summed over the query heads that share it. Null if there is one.
template <class A>
struct attention_kv_sums {
  A *dkeys = nullptr, *dvalues = nullptr;  // [key][channel]

  attention_kv_sums() = default;
  attention_kv_sums(arena& memory, attention_shape shape)
      : dkeys(memory.take<A>(amount(shape.keys) * shape.channels)),
        dvalues(memory.take<A>(amount(shape.keys) * shape.values)) {}
};

template <class T>
class attention_map_layout {
  using A = accumulator_t<T>;

 public:
  A* distance_sums;
  per_thread<attention_map_workspace<T>, attention_shape, index_t> workspaces;

  attention_map_layout(arena& memory, host_exec const& exec, attention_shape const& shape)
      : distance_sums(allocate_distance_sums<A>(memory, shape)),
        workspaces(memory, exec.threads, amount(shape.empty() ? 0 : shape.batch) * shape.heads,
                   shape, shape.queries),
        has_groups_(!shape.empty() && shape.group() > 1),
        kv_sums_(memory, exec.threads, amount(has_groups_ ? shape.batch : 0) * shape.kv_heads,
                 shape) {}

  attention_kv_sums<A> kv_sums(unsigned thread) const {
    return has_groups_ ? kv_sums_[thread] : attention_kv_sums<A>();
  }

 private:
  bool has_groups_;
  per_thread<attention_kv_sums<A>, attention_shape> kv_sums_;
};

// Workspace of the second pass, for a shared bias: the score matrix of one query tile.
template <class T>
struct shared_bias_map_workspace {
  attention_map_workspace<T> head;
  shared_sums<accumulator_t<T>> total;

  shared_bias_map_workspace(arena& memory, attention_shape shape)
      : head(memory, shape, std::min<index_t>(shape.queries, tile_queries)), total(memory, shape) {}
};
template <class T>
struct shared_bias_map_layout {
  index_t tasks;
  per_thread<shared_bias_map_workspace<T>, attention_shape> workspaces;

  shared_bias_map_layout(arena& memory, host_exec const& exec, attention_shape const& shape)
      : tasks(count_shared_tasks(shape)), workspaces(memory, exec.threads, tasks, shape) {}
};

SLICESORT_DETAIL_END
