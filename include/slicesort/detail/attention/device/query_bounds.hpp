// SPDX-License-Identifier: Apache-2.0
// Preparation kernel of backward: key ranges per query tile.
#pragma once

#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

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
