// SPDX-License-Identifier: Apache-2.0
// Sparse masks: some tiles of queries gather the keys that any of them looks at, a tile of keys at
// a time. A tile of queries then takes part where it looks at any: in groups of lanes and in whole
// blocks of rows. All of this is decided by the mask, never by threads or instruction sets.
#pragma once

#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Tiles of queries that gather keys together: 384 queries, whole blocks of 64 and 128. The more
// there are, the seldomer keys are searched for and brought.
inline constexpr int gathering_tiles = 8;

// A part of a tile of queries and gathered keys: rows [first, first + keys).
struct gathered_segment {
  lane_range lanes;
  int first, keys;
};

struct gathered_keys {
  int count;                            // of the keys
  pair_range rest;                      // what has not been searched
  index_t keys[attention_keys];         // rising
  std::uint64_t pairs[attention_keys];  // bit i of pairs[j]: whether a tile's query i looks at them

  void begin(pair_range pairs_to_search) { rest = pairs_to_search; }
  // Gathers the next keys. Returns whether there are any.
  bool find(attention_mask const& mask, attention_head const& head) {
    if (rest.first_query >= rest.last_query) return false;
    count = mask.find_keys(mask.self, head, rest, attention_keys, keys);
    return count > 0;
  }
  // f(first row, rows) for keys that are neighbors.
  template <class F>
  void for_each_interval(F const& f) const {
    for (int first = 0, last = 1; first < count; first = last++) {
      while (last < count && keys[last] == keys[last - 1] + 1) ++last;
      f(first, last - first);
    }
  }
  // f(first row, rows) for those of a part.
  template <class F>
  void for_each_interval_in(gathered_segment const& segment, F const& f) const {
    for_each_interval([&](int first, int rows) {
      int const begin = std::max(first, segment.first),
                end = std::min(first + rows, segment.first + segment.keys);
      if (begin < end) f(begin, end - begin);
    });
  }
  // Finds the pairs of a tile.
  void find_pairs(attention_mask const& mask, attention_head const& head, index_t query,
                  int queries) {
    for_each_interval([&](int first, int rows) {
      mask.allowed(mask.self, head, {query, queries, keys[first], rows}, pairs + first);
    });
  }

  // f(part) for parts that have all pairs in them, but neither many others nor few each.
  // `all_lanes`: a part has all lanes.
  template <class F>
  void for_each_segment(bool all_lanes, F const& f) const {
    constexpr int groups = attention_queries / product_columns;
    block_set group_blocks[groups] = {};
    for (int j = 0, block = 0; j < count; j += product_rows, ++block) {
      std::uint64_t bits = 0;
      for (int i = j; i < std::min(j + product_rows, count); ++i) bits |= pairs[i];
      for (int g = 0; g < groups; ++g, bits >>= product_columns)
        group_blocks[g] |= block_set{(bits & 0xffff) != 0} << block;
    }
    for (block_set& blocks : group_blocks) blocks = closed(blocks);
    for (int g = 0, next; g < groups; g = next) {
      block_set blocks = group_blocks[g];
      for (next = g + 1;
           next < groups && (all_lanes || worth_joining(blocks, next - g, group_blocks[next]));
           ++next)
        blocks = closed(blocks | group_blocks[next]);
      lane_range const lanes{g * product_columns, next * product_columns};
      for (int block = 0; blocks >> block != 0; ++block) {
        if ((blocks >> block & 1) == 0) continue;
        int const first = block;
        while ((blocks >> block & 1) != 0) ++block;
        f(gathered_segment{lanes, first * product_rows,
                           std::min(block * product_rows, count) - first * product_rows});
      }
    }
  }
  // Whether the first `queries` lanes look at all keys of the part.
  bool all_visible(gathered_segment const& segment, int queries) const {
    std::uint64_t const lanes =
        lane_bits(segment.lanes.first, std::min(segment.lanes.last, queries));
    std::uint64_t common = lanes;
    for (int j = segment.first; j < segment.first + segment.keys; ++j) common &= pairs[j];
    return common == lanes;
  }

 private:
  // Bit b: rows [8 b, 8 b + 8).
  using block_set = std::uint32_t;
  static_assert(attention_keys / product_rows < 32);

  static std::uint64_t lane_bits(int first, int last) {
    return ((std::uint64_t{1} << last) - 1) & ~((std::uint64_t{1} << first) - 1);
  }
  // A product of one more block costs less than another product.
  static block_set closed(block_set blocks) { return blocks | (blocks << 1 & blocks >> 1); }
  static int size(block_set blocks) {
    int n = 0;
    for (; blocks != 0; blocks &= blocks - 1) ++n;
    return n;
  }
  // Wider products are faster. What that is worth was measured.
  static bool worth_joining(block_set blocks, int groups, block_set next) {
    constexpr int worth = 2;  // blocks of a group
    return size(closed(blocks | next)) * (groups + 1) <= size(blocks) * groups + size(next) + worth;
  }
};

// Loads the rows of gathered keys, filled up with zeros to `pitch` columns and whole blocks of
// rows.
template <class T, class A>
void load_gathered(row_access<T> const& io, attention_head const& head, tensor4<T const> from,
                   gathered_keys const& gathered, A* to, index_t pitch) {
  gathered.for_each_interval([&](int first, int rows) {
    io.load(head, from, gathered.keys[first], rows, to + first * pitch, pitch, rows);
  });
  std::fill(to + gathered.count * pitch, to + padded_rows(gathered.count) * pitch, A(0));
}

SLICESORT_DETAIL_END
