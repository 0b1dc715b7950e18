// SPDX-License-Identifier: Apache-2.0
// Mask and bias of a tile of scores.
#pragma once

#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/swizzled_tile.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Mask of a head; a reference to `mask` if all heads share it.
template <class Mask>
SLICESORT_HD_INLINE decltype(auto) mask_of(Mask const& mask, head_index const& head) {
  if constexpr (has_for_head<Mask>)
    return mask_of_head(mask, head.sample, head.head);
  else
    return (void)head, (mask);
}
// True if every (query, key) pair must be tested. Sparse masks can skip the test for covered tiles.
template <class Mask>
inline constexpr bool tests_each_key = has_allows<head_mask_t<Mask>> && !is_sparse<Mask>;

// Queries [first, first + count) and keys [key, key + keys_per_tile), clipped to the head.
SLICESORT_HD_INLINE pair_range pairs_of_tile(index_t first, int count, index_t queries, index_t key,
                                             int keys_per_tile, index_t keys) {
  return {first, first + count < queries ? first + count : queries, key,
          key + keys_per_tile < keys ? key + keys_per_tile : keys};
}

// Union [first, last) and intersection [common_first, common_last) of the key ranges of some
// queries.
struct range_bounds {
  index_t first, last, common_first, common_last;

  static SLICESORT_HD range_bounds empty(index_t keys) { return {keys, 0, 0, keys}; }
  SLICESORT_HD void add(range_bounds const& other) {
    if (other.first < first) first = other.first;
    if (other.last > last) last = other.last;
    if (other.common_first > common_first) common_first = other.common_first;
    if (other.common_last < common_last) common_last = other.common_last;
  }
  // An empty range makes the intersection empty.
  SLICESORT_HD void add(key_range r, index_t keys) {
    if (r.first < r.last)
      add({r.first, r.last, r.first, r.last});
    else
      add({keys, 0, keys, 0});
  }
  SLICESORT_HD bool meets(index_t from, index_t to) const { return first < to && from < last; }
  SLICESORT_HD bool covers(index_t from, index_t to) const {
    return common_first <= from && to <= common_last;
  }
};

// True if any query of the block sees any key of the tile. Tests the bounds, then the mask itself.
template <class Mask>
SLICESORT_HD_INLINE bool tile_meets(Mask const& head_mask, attention_task const& task,
                                    range_bounds const& bounds, int queries_per_block, index_t key,
                                    int keys_per_tile) {
  return bounds.meets(key, key + keys_per_tile) &&
         meets_pairs(head_mask, pairs_of_tile(task.first, queries_per_block, task.queries, key,
                                              keys_per_tile, task.keys));
}
// True if all queries of the block see all keys of the tile. Calls `covers` of a sparse mask; uses
// the key ranges of other masks.
template <class Mask>
SLICESORT_HD_INLINE bool tile_is_covered(Mask const& mask, attention_task const& task,
                                         range_bounds const& bounds, int queries_per_block,
                                         index_t key, int keys_per_tile) {
  if constexpr (is_sparse<Mask>)
    return key + keys_per_tile <= task.keys &&
           covers_pairs(mask_of(mask, task.head),
                        pairs_of_tile(task.first, queries_per_block, task.queries, key,
                                      keys_per_tile, task.keys));
  else
    return bounds.covers(key, key + keys_per_tile);
}

// Row of a head in `bounds` [samples or samples * heads, tiles]. Heads share a row unless the mask
// depends on the head.
template <class Mask>
SLICESORT_HD_INLINE index_t row_of_bounds(head_index head, index_t heads) {
  if constexpr (has_for_head<Mask>)
    return head.sample * heads + head.head;
  else
    return (void)heads, head.sample;
}

// Stages the key ranges of `count` queries; queries from `queries` on get empty ranges. Writes the
// bounds of the valid queries to bounds[0]. `bounds` must have one element per warp.
template <class Block, class Mask>
SLICESORT_HD_INLINE void stage_ranges(Block& block, Mask const& mask, key_range* ranges,
                                      range_bounds* bounds, index_t first, int count,
                                      index_t queries, index_t keys) {
  range_bounds thread_bounds = range_bounds::empty(keys);
  for (int r = block.rank(); r < count; r += block.size()) {
    ranges[r] = {0, 0};
    if (first + r >= queries) continue;
    ranges[r] = clamped_key_range(mask, first + r, keys);
    thread_bounds.add(ranges[r], keys);
  }
  auto const min_of = [](index_t a, index_t b) { return a < b ? a : b; };
  auto const max_of = [](index_t a, index_t b) { return a > b ? a : b; };
  thread_bounds = {block.template reduce<32>(thread_bounds.first, min_of),
                   block.template reduce<32>(thread_bounds.last, max_of),
                   block.template reduce<32>(thread_bounds.common_first, max_of),
                   block.template reduce<32>(thread_bounds.common_last, min_of)};
  if (block.rank() % 32 == 0) bounds[block.rank() / 32] = thread_bounds;
  block.sync();
  if (block.rank() == 0)
    for (int w = 1; w < block.size() / 32; ++w) bounds[0].add(bounds[w]);
  block.sync();
}

// Layout of a tile with one element per score.
template <int Columns>
using score_tile = swizzled_tile<Columns, 8, Columns / 8>;

// Stages the bias of each score of a tile, or -infinity if the pair is masked; the bias of masked
// pairs is not read. Rows of the tile are queries, or keys if Transposed. Requires a sync() before
// mask_scores.
template <bool Transposed, int Columns, class Block, class Mask, class T>
SLICESORT_HD_INLINE void stage_bias(Block& block, T* bias_tile, int rows, Mask const& mask,
                                    key_range const* ranges, index_t first_query, index_t first_key,
                                    head_rows<T> const& bias) {
  SLICESORT_NO_UNROLL
  for (int i = Block::opaque(block.rank()); i < rows * Columns; i += block.size()) {
    int const row = Transposed ? i % rows : i / Columns,
              column = Transposed ? i / rows : i % Columns;
    int const query = Transposed ? column : row;
    index_t const key = first_key + (Transposed ? row : column);
    key_range const range = ranges[query];
    T value = static_cast<T>(minus_infinity<accumulator_t<T>>());
    if (range.first <= key && key < range.last && allows_key(mask, first_query + query, key))
      value = bias.data == nullptr
                  ? static_cast<T>(0.0f)
                  : bias.data[(first_query + query) * bias.stride + key * bias.channel_stride];
    bias_tile[score_tile<Columns>::offset(row, column)] = value;
  }
}
// Turns products into scores: s = s * scale + bias. `bias_tile` begins at the first row of the
// warp.
template <class Block, class A, class T, int Rows, int Columns>
SLICESORT_HD_INLINE void mask_scores(Block& block, register_tile<A, Rows, Columns>& s, A scale,
                                     T const* bias_tile) {
  using tile = score_tile<8 * Columns>;
  tile_lane const lane(Block::opaque(block.rank()));
  SLICESORT_UNROLL
  for (int i = 0; i < s.count; ++i)
    s[i] = block.multiply_add(
        s[i], scale,
        static_cast<A>(
            bias_tile[tile::offset(s.row(i, lane), s.column(i, lane), tile::swizzle(lane.group))]));
}

SLICESORT_DETAIL_END
