// SPDX-License-Identifier: Apache-2.0
// Keys gathered for a sparse mask. Several query tiles share a tile of gathered keys. Each query
// tile computes only the segments (groups of lanes, blocks of rows) that contain visible pairs. The
// segments depend only on the mask, so results do not depend on the thread count or the instruction
// set.
#pragma once

#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Query tiles that share gathered keys: 384 queries, a multiple of 64 and 128. More tiles amortize
// the gather.
inline constexpr int gathering_tiles = 8;

// Rows [first, first + keys) of the gathered keys, for a range of lanes.
struct gathered_segment {
  lane_range lanes;
  int first, keys;
};

struct gathered_keys {
  int count;
  pair_range remaining;     // pairs not searched yet
  index_t keys[tile_keys];  // ascending
  // Bit i of query_bits[j]: query i of the current tile sees keys[j].
  std::uint64_t query_bits[tile_keys];

  void start_search(pair_range pairs_to_search) { remaining = pairs_to_search; }
  // Gathers the next keys. Returns false if there are none.
  bool find_next(attention_mask const& mask, attention_head const& head) {
    if (remaining.first_query >= remaining.last_query) return false;
    count = mask.find_keys(mask.mask, head, remaining, tile_keys, keys);
    return count > 0;
  }
  // Calls f(first_row, rows) for each interval of consecutive keys.
  template <class F>
  void for_each_interval(F const& f) const {
    for (int first = 0, last = 1; first < count; first = last++) {
      while (last < count && keys[last] == keys[last - 1] + 1) ++last;
      f(first, last - first);
    }
  }
  // The same for the intervals within a segment.
  template <class F>
  void for_each_interval_in(gathered_segment const& segment, F const& f) const {
    for_each_interval([&](int first, int rows) {
      int const begin = std::max(first, segment.first),
                end = std::min(first + rows, segment.first + segment.keys);
      if (begin < end) f(begin, end - begin);
    });
  }
  void find_visible_pairs(attention_mask const& mask, attention_head const& head, index_t query,
                          int queries) {
    for_each_interval([&](int first, int rows) {
      mask.allowed_bits(mask.mask, head, {query, queries, keys[first], rows}, query_bits + first);
    });
  }

  // Splits the visible pairs into segments of balanced size and calls f(segment). With
  // `spans_all_lanes`, segments span all lanes.
  template <class F>
  void for_each_segment(bool spans_all_lanes, F const& f) const {
    constexpr int groups = tile_queries / product_columns;
    block_set group_blocks[groups] = {};
    for (int j = 0, block = 0; j < count; j += product_rows, ++block) {
      std::uint64_t bits = 0;
      for (int i = j; i < std::min(j + product_rows, count); ++i) bits |= query_bits[i];
      for (int group = 0; group < groups; ++group, bits >>= product_columns)
        group_blocks[group] |= block_set{(bits & 0xffff) != 0} << block;
    }
    for (block_set& blocks : group_blocks) blocks = fill_gaps(blocks);
    for (int group = 0, next; group < groups; group = next) {
      block_set blocks = group_blocks[group];
      for (next = group + 1;
           next < groups &&
           (spans_all_lanes || is_worth_joining(blocks, next - group, group_blocks[next]));
           ++next)
        blocks = fill_gaps(blocks | group_blocks[next]);
      lane_range const lanes{group * product_columns, next * product_columns};
      for (int block = 0; blocks >> block != 0; ++block) {
        if ((blocks >> block & 1) == 0) continue;
        int const first = block;
        while ((blocks >> block & 1) != 0) ++block;
        f(gathered_segment{lanes, first * product_rows,
                           std::min(block * product_rows, count) - first * product_rows});
      }
    }
  }
  // True if the first `queries` lanes see all keys of the segment.
  bool is_fully_visible(gathered_segment const& segment, int queries) const {
    std::uint64_t const lanes =
        lane_bits(segment.lanes.first, std::min(segment.lanes.last, queries));
    std::uint64_t common = lanes;
    for (int j = segment.first; j < segment.first + segment.keys; ++j) common &= query_bits[j];
    return common == lanes;
  }

 private:
  // Bit b stands for rows [8 b, 8 b + 8).
  using block_set = std::uint32_t;
  static_assert(tile_keys / product_rows < 32);

  static std::uint64_t lane_bits(int first, int last) {
    return ((std::uint64_t{1} << last) - 1) & ~((std::uint64_t{1} << first) - 1);
  }
  // Fills gaps of one block, which cost less than a second product.
  static block_set fill_gaps(block_set blocks) { return blocks | (blocks << 1 & blocks >> 1); }
  static int count_blocks(block_set blocks) {
    int n = 0;
    for (; blocks != 0; blocks &= blocks - 1) ++n;
    return n;
  }
  // True if one wide product is faster than two; the threshold is measured.
  static bool is_worth_joining(block_set blocks, int groups, block_set next) {
    constexpr int block_cost = 2;
    return count_blocks(fill_gaps(blocks | next)) * (groups + 1) <=
           count_blocks(blocks) * groups + count_blocks(next) + block_cost;
  }
};

// Loads the rows of gathered keys, padded with zeros to `pitch` columns and whole blocks of rows.
template <class T, class A>
void load_gathered(row_access<T> const& io, attention_head const& head, tensor4<T const> from,
                   gathered_keys const& gathered, A* to, index_t pitch) {
  gathered.for_each_interval([&](int first, int rows) {
    io.load(head, from, gathered.keys[first], rows, to + first * pitch, pitch, rows);
  });
  std::fill(to + gathered.count * pitch, to + padded_rows(gathered.count) * pitch, A(0));
}

SLICESORT_DETAIL_END
