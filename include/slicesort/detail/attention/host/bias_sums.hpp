// SPDX-License-Identifier: Apache-2.0
// Gradient sums of a relative or shared bias. They are accumulated in the accumulator type in the
// order sample, head, query, and are rounded once. The score gradients of all pairs are never
// stored at once.
#pragma once

#include <slicesort/detail/attention/bias.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Calls f(sample * heads + head), in order, for each head that contributes to the gradient of group
// `group`.
template <class F>
void for_each_head_in_group(attention_shape const& shape, index_t group, F const& f) {
  auto const heads = shape.dbias.group_of(group, shape.batch, shape.heads);
  for (index_t n = 0; n < heads.count; ++n) f(heads.first + n * heads.step);
}
template <class T>
T* row_of_group(tensor4<T> dbias, attention_shape const& shape, index_t group, index_t row) {
  strides4 const strides = dbias.strides();
  return dbias.data() + group / shape.dbias.heads * strides.batch +
         group % shape.dbias.heads * strides.heads + row * strides.length;
}

// [batch * heads][query - key + keys - 1]; used if dbias is relative.
template <class A>
A* allocate_distance_sums(arena& memory, attention_shape const& shape) {
  bool const is_unused = shape.dbias.layout != dbias_layout::relative || shape.empty();
  return memory.take<A>(is_unused ? amount(0)
                                  : amount(shape.batch) * shape.heads * shape.distances());
}

// Sums the distance sums of all heads of a group, and stores a relative dbias.
template <class T, class A>
void reduce_distance_sums(host_exec const& exec, row_access<T> const& io,
                          attention_shape const& shape, A const* sums, tensor4<T> dbias,
                          grad_mode mode) {
  constexpr index_t chunk = 512;
  index_t const distances = shape.distances(), chunks = (distances + chunk - 1) / chunk,
                key_stride = dbias.strides().channels;
  for_each_task(exec, shape.dbias.groups() * chunks, [&](unsigned, index_t task) {
    index_t const group = task / chunks, first = task % chunks * chunk,
                  count = std::min(chunk, distances - first);
    A total[chunk] = {};
    for_each_head_in_group(shape, group, [&](index_t flat_head) {
      A const* const last =
          sums + flat_head * distances + distances - 1 - first;  // by descending distance
      for (index_t n = 0; n < count; ++n) total[n] += last[-n];
    });
    io.store(total, 0, 1, count, row_of_group(dbias, shape, group, 0) + first * key_stride, 0,
             key_stride, mode);
  });
}

// Writes zeros to dbias, for a call without samples or heads.
template <class T>
void clear_dbias(tensor4<T> dbias, grad_mode mode) {
  extents4 const extents = dbias.extents();
  if (dbias.data() == nullptr || mode == grad_mode::accumulate) return;
  for (index_t b = 0; b < extents.batch; ++b)
    for (index_t h = 0; h < extents.heads; ++h)
      for (index_t i = 0; i < extents.length; ++i)
        for (index_t c = 0; c < extents.channels; ++c) dbias(b, h, i, c) = T(0.0F);
}

// Score gradients of a query tile, summed over the heads of a group: [key][lane].
template <class A>
struct shared_sums {
  A* sums;
  int queries = 0;  // largest number of valid queries of the heads so far
  index_t keys = 0;

  shared_sums(arena& memory, attention_shape const& shape)
      : sums(memory.take<A>(amount(shape.keys) * tile_queries)) {}

  void clear(index_t all_keys) {
    std::fill_n(sums, all_keys * tile_queries, A(0));
    queries = 0, keys = 0;
  }
  void extend_to(int valid_queries, index_t valid_keys) {
    queries = std::max(queries, valid_queries), keys = std::max(keys, valid_keys);
  }
  // Stores the sums from row `query` on, and 0 for pairs past the lengths of every head.
  template <class T>
  void store(row_access<T> const& io, attention_shape const& shape, index_t group, index_t query,
             tensor4<T> dbias, grad_mode mode) const {
    index_t const key_stride = dbias.strides().channels,
                  count = std::min<index_t>(tile_queries, shape.queries - query);
    A row[tile_keys];
    for (index_t i = 0; i < count; ++i) {
      T* const out = row_of_group(dbias, shape, group, query + i);
      index_t const valid = i < queries ? keys : 0;
      for (index_t j = 0; j < valid; j += tile_keys) {
        index_t const n = std::min<index_t>(tile_keys, valid - j);
        for (index_t c = 0; c < n; ++c) row[c] = sums[(j + c) * tile_queries + i];
        io.store(row, 0, 1, n, out + j * key_stride, 0, key_stride, mode);
      }
      if (mode == grad_mode::overwrite)
        for (index_t j = valid; j < shape.keys; ++j) out[j * key_stride] = T(0.0F);
    }
  }
};

// Number of query tiles. Each is one task of the pass over a shared bias.
constexpr index_t count_query_tiles(attention_shape const& shape) {
  return (shape.queries + tile_queries - 1) / tile_queries;
}
constexpr index_t count_shared_tasks(attention_shape const& shape) {
  bool const is_needed = shape.dbias.layout == dbias_layout::shared && !shape.empty();
  return is_needed ? shape.dbias.groups() * count_query_tiles(shape) : 0;
}

SLICESORT_DETAIL_END
