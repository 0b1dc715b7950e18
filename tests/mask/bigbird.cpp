// SPDX-License-Identifier: Apache-2.0
// BigBird's mask compared with a reference that shuffles explicitly with an independent hash, and
// with the values in the specification.
#include "pattern.hpp"

#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace support;
namespace ss = slicesort;
namespace mask = slicesort::mask;

namespace {

using word = std::uint64_t;

word splitmix64(word z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
word hash64(word seed, word counter) {
  return splitmix64(seed + 0x9E3779B97F4A7C15u * (counter + 1));
}
word uniform_below(word seed, word sequence, word counter, word n) {
  return (hash64(hash64(seed, sequence), counter) >> 32) * n >> 32;
}

// Returns the key blocks that each query block sees.
std::vector<std::set<index_t>> visible_blocks(mask::bigbird const& m, index_t blocks,
                                              index_t head) {
  std::vector<std::set<index_t>> table;
  index_t const half_window = m.window / 2;
  for (index_t b = 0; b < blocks; ++b) {
    std::set<index_t> visible;
    bool const is_global_row = b < m.ends || b >= blocks - m.ends;
    std::vector<index_t> candidates;
    for (index_t c = 0; c < blocks; ++c) {
      bool const is_global_column = c < m.ends || c >= blocks - m.ends;
      if (is_global_row || is_global_column || std::abs(c - b) <= half_window)
        visible.insert(c);
      else if (c <= m.pool)
        candidates.push_back(c);
    }
    std::size_t const size = candidates.size();
    for (std::size_t t = 0; !is_global_row && t < size && static_cast<index_t>(t) < m.random; ++t) {
      std::swap(candidates[t],
                candidates[t + static_cast<std::size_t>(uniform_below(
                                   m.seed, (static_cast<word>(head) << 32) + static_cast<word>(b),
                                   t, size - t))]);
      visible.insert(candidates[t]);
    }
    table.push_back(visible);
  }
  return table;
}

mask::bigbird make_mask(index_t block, index_t random, word seed, index_t keys) {
  mask::bigbird m;
  m.block = block;
  m.random = random;
  m.seed = seed;
  m.keys = keys;
  return m;
}

using block_list = std::vector<index_t>;
// Returns the key blocks that query block `row`, of 10, sees.
block_list row_of(mask::bigbird m, index_t head, index_t row) {
  block_list visible = keys_of(m.for_head(head), row * m.block, m.keys);
  for (index_t& key : visible) key /= m.block;
  visible.erase(std::unique(visible.begin(), visible.end()), visible.end());
  return visible;
}

constexpr mask::bigbird constexpr_mask() {
  mask::bigbird m;
  m.block = 1, m.random = 2, m.seed = 7, m.keys = 10;
  return m;
}
static_assert(constexpr_mask().allows(1, 6) && !constexpr_mask().allows(1, 4),
              "golden row, in a constant expression");
static_assert(constexpr_mask().for_head(1).meets(1, 2, 4, 5) && !constexpr_mask().meets(1, 2, 3, 6),
              "tiles");
static_assert(constexpr_mask().covers(3, 5, 7, 9) == false && constexpr_mask().covers(0, 1, 0, 10),
              "tiles");

}  // namespace

TEST_CASE("the specification's blocks") {
  for (index_t block : {1, 4})
    for (index_t keys : {10 * block, 10 * block - block / 2}) {
      mask::bigbird m = make_mask(block, 2, 7, keys);
      CHECK(m.validate(keys) == nullptr);
      CHECK(row_of(m, 0, 1) == block_list{0, 1, 2, 6, 7, 9});
      CHECK(row_of(m, 0, 4) == block_list{0, 3, 4, 5, 7, 8, 9});
      CHECK(row_of(m, 0, 8) == block_list{0, 1, 4, 7, 8, 9});
      CHECK(row_of(m, 1, 1) == block_list{0, 1, 2, 4, 7, 9});
      CHECK(row_of(m, 1, 4) == block_list{0, 3, 4, 5, 7, 8, 9});
      CHECK(row_of(m, 1, 8) == block_list{0, 2, 6, 7, 8, 9});
      m.pool = 3;
      CHECK(row_of(m, 0, 8) == block_list{0, 1, 3, 7, 8, 9});
    }
  CHECK(ss::detail::counter_hash32(1, 0, 0) == 1581361928u);
  CHECK(ss::detail::counter_hash32(1, 0, 1) == 4052577513u);
  CHECK(ss::detail::counter_hash32(1, 0, 2) == 194377325u);
}

TEST_CASE("pairs and tiles") {
  for (index_t block : {1, 2, 3})
    for (index_t keys : {1, 4, 12, 17})
      for (index_t window : {1, 3, 5})
        for (index_t ends : {0, 1, 2, 20})
          for (index_t random : {0, 1, 2, 5, 100})
            for (index_t pool : {index_t{0}, index_t{3}, mask::bigbird::unlimited}) {
              mask::bigbird m = make_mask(block, random, static_cast<word>(keys + random), keys);
              m.window = window, m.ends = ends, m.pool = pool;
              REQUIRE(m.validate(keys) == nullptr);
              index_t const head = ends + random, count = (keys - 1) / block + 1;
              auto const table = visible_blocks(m, count, head);
              // Queries past the last key see everything, like those of the last block.
              mask_pattern const expected(keys + 2, keys, [&](index_t i, index_t j) {
                return i / block >= count ||
                       table[static_cast<std::size_t>(i / block)].count(j / block) == 1;
              });
              std::string const mismatch = describe_mismatch(m.for_head(head), expected, exact);
              CAPTURE(block);
              CAPTURE(window);
              CAPTURE(ends);
              CAPTURE(random);
              CAPTURE(pool);
              CHECK(mismatch == "");
            }
}

TEST_CASE("random blocks are drawn uniformly") {
  mask::bigbird const m = make_mask(1, 3, 11, 200);
  std::vector<int> drawn(200, 0);
  int draws = 0;
  for (index_t head = 0; head < 8; ++head)
    for (index_t b = 1; b < 199; ++b) {
      int found = 0;
      for (index_t c = 1; c < 199; ++c)
        if (std::abs(c - b) > 1 && m.for_head(head).allows(b, c))
          ++found, ++drawn[static_cast<std::size_t>(c)];
      CHECK(found == 3);
      draws += found;
    }
  CHECK(draws == 8 * 198 * 3);
  // Each block is expected 24 times, with a standard deviation below 5.
  CHECK(*std::max_element(drawn.begin(), drawn.end()) < 49);
  CHECK(*std::min_element(drawn.begin() + 1, drawn.end() - 1) > 5);
}

TEST_CASE("per-head masks inside combined masks") {
  mask::bigbird const m = make_mask(1, 2, 7, 10);
  auto const head_of = [](auto const& combined) {
    return keys_of(ss::detail::mask_of_head(combined, 0, 1), 8, 10);
  };
  CHECK(head_of(mask::both{mask::causal{}, m}) == block_list{0, 2, 6, 7, 8});
  CHECK(head_of(mask::both{m, mask::window{3, 0}}) == block_list{6, 7, 8});
  CHECK(head_of(mask::either{m, mask::causal{-5}}) == block_list{0, 1, 2, 3, 6, 7, 8, 9});
  CHECK(head_of(mask::either{mask::both{mask::causal{}, m}, mask::window{0, 0}}) ==
        block_list{0, 2, 6, 7, 8});
  CHECK(keys_of(m, 8, 10) == block_list{0, 1, 4, 7, 8, 9});  // head 0
}
