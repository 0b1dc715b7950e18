// SPDX-License-Identifier: Apache-2.0
// Per-thread workspace of linear_attention on the host: the matrices of a tile, which interleaved
// heads share, and the state of each head.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/linear_attention/host/features.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

SLICESORT_DETAIL_BEGIN

inline constexpr int max_heads_per_task = 4;

// True if a task interleaves its heads tile by tile, false if it computes them one after the other.
// Heads that are adjacent in memory are interleaved, which reads long contiguous runs and suits
// prefetching, pages and cache sets.
template <class T>
bool should_interleave_heads(linear_attention_inputs<T> const& in,
                             linear_attention_shape const& s) {
  auto const has_adjacent_heads = [](tensor4<T const> t) {
    strides4 const strides = t.strides();
    return std::abs(strides.heads) < std::abs(strides.length);
  };
  return std::max(s.queries, s.keys) > linear_tile &&
         (has_adjacent_heads(in.q) || has_adjacent_heads(in.k) || has_adjacent_heads(in.v));
}

// Chooses how many query heads of a group a task of forward computes. Each task sums the keys anew,
// so a group is only split if there would be fewer tasks than threads.
inline index_t group_heads_per_task(linear_attention_shape const& s, unsigned threads) {
  index_t const max_tasks = std::max(threads, 1U), group = s.group();
  auto const tasks = static_cast<index_t>(
      std::min((amount(s.batch) * s.kv_heads).value(), static_cast<std::size_t>(max_tasks)));
  index_t const splits = std::min((max_tasks + tasks - 1) / tasks, group);
  return (group + splits - 1) / splits;
}

// Chooses how many heads of a sample a task computes. Their state must fit in the L2 cache, and no
// thread may get more work than with one head per task.
template <class A>
int heads_per_task(linear_attention_shape const& s, unsigned threads) {
  constexpr std::size_t cache_bytes = std::size_t{320} << 10;
  linear_widths const width(s);
  amount const bytes = (amount(width.features) * (amount(4) * width.values + amount(2)) +
                        amount(2) * width.w * width.channels) *
                       sizeof(A);
  auto const rounds = [&](index_t tasks_per_sample) {
    std::size_t const tasks = (amount(s.batch) * tasks_per_sample).value();
    return (tasks - 1) / std::max(threads, 1U) + 1;
  };
  index_t heads = std::min<index_t>(max_heads_per_task, s.heads);
  for (; heads > 1; --heads)
    if ((bytes * heads).value() <= cache_bytes &&
        (amount(rounds((s.heads + heads - 1) / heads)) * heads).value() <= rounds(s.heads))
      break;
  return static_cast<int>(heads);
}

// Sums over rows, as in params.hpp: S and Z over keys, or U and u over queries.
template <class A>
struct linear_sums {
  A* matrix = nullptr;      // [feature][value]: S or U
  A* transposed = nullptr;  // [value][feature]; backward only
  A* row = nullptr;         // [feature]: Z or u

  linear_sums() = default;
  linear_sums(arena& memory, linear_attention_shape const& s, bool backward) {
    linear_widths const width(s);
    amount const size = amount(width.features) * width.values;
    matrix = memory.take<A>(size);
    transposed = memory.take<A>(backward ? size : amount(0));
    row = memory.take<A>(width.features);
  }
  void clear(linear_widths const& width) const {
    std::fill(matrix, matrix + width.features * width.values, A(0));
    if (transposed != nullptr)
      std::fill(transposed, transposed + width.features * width.values, A(0));
    std::fill(row, row + width.features, A(0));
  }
};

// State of a head that is kept between tiles.
template <class A>
struct linear_head_memory {
  linear_sums<A> key_sums, query_sums;
  w_memory<A> w;
  A* maxima = nullptr;  // random_exp: one maximum; in causal backward, one per key
  // Causal backward, [head of the group][query].
  A *saved_inverse_divisors = nullptr, *saved_weight_sum_grads = nullptr;

  linear_head_memory() = default;
  linear_head_memory(arena& memory, linear_attention_shape const& s, bool backward)
      : key_sums(memory, s, backward), w(memory, s) {
    if (backward) query_sums = linear_sums<A>(memory, s, true);
    bool const causal_backward = s.causal && backward;
    maxima = memory.take<A>(!s.feature.has_maximum() ? 0 : causal_backward ? s.keys : 1);
    amount const queries = causal_backward ? amount(s.group()) * s.queries : amount(0);
    saved_inverse_divisors = memory.take<A>(queries);
    saved_weight_sum_grads = memory.take<A>(queries);
  }
};

// Matrices of a tile, with the symbols of params.hpp.
template <class A>
struct linear_tile_memory {
  feature_memory<A> queries, keys;
  A *values, *results;                    // [row][value]: v; y in forward, dv in backward
  A* scaled_dy;                           // [query][value]: g = dy / divisor
  A* weight_sums;                         // [query]: d, then <phi(q), dphi(q)>
  A* inverse_divisors;                    // [query]: 1 / D(d)
  A* weight_sum_grads;                    // [query]: D'(d) / D(d), then c
  A* factors;                             // [row]: rescales each row
  A *weights, *weight_grads;              // causal [query][key]
  A *transposed_phi, *transposed_values;  // causal: key features and values, one key per lane
  A* running_z;                           // causal [query][feature]: Z of each query
  A* rescaled_features;                   // causal [row][feature]
  A* rescaled_values;                     // causal [row][value]
  A* head_sums;  // causal backward of a group, [key][feature or value]: gradient of one head

  linear_tile_memory(arena& memory, linear_attention_shape const& s, bool backward)
      : queries(memory, s, backward), keys(memory, s, backward) {
    constexpr int tile_rows = linear_tile;
    linear_widths const width(s);
    auto const take_matrix = [&](index_t columns, bool needed = true) {
      return memory.take<A>(needed ? amount(tile_rows) * columns : amount(0));
    };
    bool const causal = s.causal, causal_backward = causal && backward;
    values = take_matrix(width.values);
    results = take_matrix(width.values);
    scaled_dy = take_matrix(width.values, backward);
    weight_sums = memory.take<A>(tile_rows), inverse_divisors = memory.take<A>(tile_rows),
    weight_sum_grads = memory.take<A>(tile_rows);
    factors = memory.take<A>(tile_rows);
    weights = take_matrix(tile_rows, causal);
    weight_grads = take_matrix(tile_rows, causal_backward);
    transposed_phi = take_matrix(width.features, causal);
    transposed_values = take_matrix(width.values, causal_backward);
    running_z = take_matrix(width.features, causal_backward);
    rescaled_features = take_matrix(width.features, causal && s.feature.has_maximum());
    rescaled_values = take_matrix(width.values, causal_backward && s.feature.has_maximum());
    head_sums = take_matrix(std::max(width.features, width.values),
                            causal_backward && !s.empty() && s.group() != 1);
  }
};

// Workspace of a task for one head.
template <class A>
struct linear_task_memory : linear_tile_memory<A>, linear_head_memory<A> {
  linear_task_memory(linear_tile_memory<A> const& tile, linear_head_memory<A> const& head)
      : linear_tile_memory<A>(tile), linear_head_memory<A>(head) {}
};
// Workspace of a thread.
template <class A>
struct linear_thread_memory {
  linear_tile_memory<A> tile;
  linear_head_memory<A> heads[max_heads_per_task];

  linear_thread_memory(arena& memory, linear_attention_shape const& s, bool backward,
                       int task_heads)
      : tile(memory, s, backward) {
    for (int h = 0; h < task_heads; ++h) heads[h] = linear_head_memory<A>(memory, s, backward);
  }
  linear_task_memory<A> task(int h) const { return {tile, heads[h]}; }
};

SLICESORT_DETAIL_END
