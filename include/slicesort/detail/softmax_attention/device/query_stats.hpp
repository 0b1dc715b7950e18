// SPDX-License-Identifier: Apache-2.0
// Preparation kernels of backward: statistics per query, and key ranges per query tile.
#pragma once

#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/softmax_attention/device/mask.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Uses four threads per query. Computes only `delta` if there is no saved state (materialized).
template <class T>
struct query_stats_kernel {
  static constexpr int max_threads = 128;
  static constexpr int queries_per_block = max_threads / 4;
  using A = accumulator_t<T>;

  tensor4<T const> dy, y;
  tensor4<A const> state;
  attention_lengths lengths;
  query_stats<A>* stats;  // [batch, heads, queries]

  SLICESORT_HD index_t tiles() const { return divide_up(y.extents().length, queries_per_block); }
  index_t blocks() const { return y.extents().batch * y.extents().heads * tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents4 const extents = y.extents();
    index_t const flat_head = block.index() / tiles();
    index_t const row = block.index() % tiles() * queries_per_block + block.rank() / 4;
    head_index const head{flat_head / extents.heads, flat_head % extents.heads};
    bool const valid = row < valid_rows(lengths.queries, head.sample, extents.length);
    A delta(0);
    if (valid)
      for (index_t c = block.rank() % 4; c < extents.channels; c += 4)
        delta += static_cast<A>(dy(head.sample, head.head, row, c)) *
                 static_cast<A>(y(head.sample, head.head, row, c));
    delta = block.template reduce<4>(delta, [](A a, A b) { return a + b; });
    if (row >= extents.length || block.rank() % 4 != 0) return;
    query_stats<A> result{A(0), A(0), delta, A(0)};
    if (valid && state.data() != nullptr) {
      row_statistics<A> const saved = load_statistics(state, head, row);
      if (saved.max != min_score<A>) result.max = saved.max, result.inv_sum = A(1) / saved.sum;
    }
    stats[flat_head * extents.length + row] = result;
  }
};

// Computes the key ranges of query tiles, one tile per thread. Heads share ranges unless the mask
// depends on the head.
template <class Mask>
struct query_bounds_kernel {
  static constexpr int max_threads = 128;

  Mask mask;
  attention_lengths lengths{};
  index_t samples{}, heads{}, queries{}, keys{};
  int queries_per_tile{};
  range_bounds* bounds{};  // [samples or samples * heads, tiles]

  SLICESORT_HD index_t tiles() const { return divide_up(queries, queries_per_tile); }
  SLICESORT_HD index_t mask_rows() const { return has_for_head<Mask> ? samples * heads : samples; }
  index_t blocks() const { return divide_up(mask_rows() * tiles(), max_threads); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const tile_index = block.index() * block.size() + block.rank();
    if (tile_index >= mask_rows() * tiles()) return;
    index_t const mask_row = tile_index / tiles(), first = tile_index % tiles() * queries_per_tile;
    index_t const sample = has_for_head<Mask> ? mask_row / heads : mask_row;
    head_index const head{sample, has_for_head<Mask> ? mask_row % heads : 0};
    auto const& head_mask = mask_of(mask, head);
    index_t const valid_keys = valid_rows(lengths.keys, sample, keys);
    index_t end = valid_rows(lengths.queries, sample, queries);
    if (end > first + queries_per_tile) end = first + queries_per_tile;
    range_bounds tile_bounds = range_bounds::empty(valid_keys);
    for (index_t i = first; i < end; ++i)
      tile_bounds.add(clamped_key_range(head_mask, i, valid_keys), valid_keys);
    bounds[tile_index] = tile_bounds;
  }
};

SLICESORT_DETAIL_END
