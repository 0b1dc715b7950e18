// SPDX-License-Identifier: Apache-2.0
/// BigBird's mask: a window of blocks, global blocks, and random blocks. Part of `mask.hpp`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_TYPES_BEGIN

namespace mask {

/// Queries and keys are cut into blocks of `block` rows. The first and the last `ends` blocks
/// attend to all keys, and all queries attend to them. Every other block attends to these global
/// blocks, to the `window` blocks around it, and to `random` further blocks (all of them if there
/// are fewer), which are drawn from `seed` for each head and each query block.
///
/// No list of blocks is stored. Testing a block takes `random` steps of a shuffle, replayed from a
/// counter-based hash, so every backend draws the same blocks, regardless of lengths.
///
/// - **Errors** `invalid_argument` unless `block` is in 1..2^40, `window` odd and in 1..2^40,
///   `ends` and `random` in 0..2^40, `pool` in 0..2^62, `keys` the number of keys, and there are at
///   most 2^31 blocks.
struct bigbird {
  static constexpr index_t unlimited = index_t{1} << 62,
                           all [[deprecated("use unlimited")]] = unlimited;

  index_t block = 64;
  index_t window = 3;  ///< odd
  index_t ends = 1;
  index_t random = 3;
  std::uint64_t seed = 0;
  index_t pool = unlimited;  ///< last block that may be drawn; 15 in the published code
  index_t keys = 0;          ///< the number of keys of the call
  index_t head = 0;          ///< head of the random blocks, set by `for_head`

  SLICESORT_HD_ABI_TAG constexpr bigbird for_head(index_t head_number) const {
    bigbird mask = *this;
    mask.head = head_number;
    return mask;
  }
  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    return sees_block(detail::block_of(query, block), detail::block_of(key, block));
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_range const block_range =
        detail::blocks_of({first_query, last_query, first_key, last_key}, block);
    if (block_range.first_query < ends || block_range.last_query > past_middle() ||
        block_range.first_key < ends || block_range.last_key > past_middle())
      return true;
    index_t const half = window / 2;
    if (block_range.first_query - half < block_range.last_key &&
        block_range.first_key < block_range.last_query + half)
      return true;
    for (index_t row = block_range.first_query; row < block_range.last_query; ++row)
      if (draws_any(row, block_range.first_key, block_range.last_key)) return true;
    return false;
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_range const block_range =
        detail::blocks_of({first_query, last_query, first_key, last_key}, block);
    // Global blocks see all blocks and are seen by all blocks.
    index_t const first_row = max_of(block_range.first_query, ends),
                  first = max_of(block_range.first_key, ends),
                  last_row = min_of(block_range.last_query, past_middle()),
                  last = min_of(block_range.last_key, past_middle());
    for (index_t row = first_row; row < last_row; ++row)
      for (index_t column = first; column < last; ++column)
        if (!sees_block(row, column)) return false;
    return true;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t keys_of_call) const {
    if (!detail::is_mask_parameter(block, 1)) return "bigbird: block must be in 1..2^40";
    if (!detail::is_mask_parameter(window, 1) || window % 2 == 0)
      return "bigbird: window must be an odd number in 1..2^40";
    if (!detail::is_mask_parameter(ends, 0) || !detail::is_mask_parameter(random, 0))
      return "bigbird: ends and random must be in 0..2^40";
    if (pool < 0 || pool > unlimited) return "bigbird: pool must be in 0..2^62";
    if (keys != keys_of_call) return "bigbird: keys must be the number of keys";
    return blocks() <= max_blocks ? nullptr : "bigbird: there must be at most 2^31 blocks";
  }

 private:
  static constexpr index_t max_blocks = index_t{1} << 31;

  SLICESORT_HD_ABI_TAG static constexpr index_t max_of(index_t a, index_t b) {
    return a < b ? b : a;
  }
  SLICESORT_HD_ABI_TAG static constexpr index_t min_of(index_t a, index_t b) {
    return a < b ? a : b;
  }
  SLICESORT_HD_ABI_TAG constexpr index_t blocks() const {
    return keys == 0 ? 0 : detail::block_of(keys - 1, block) + 1;
  }
  // Blocks `ends .. past_middle() - 1` are in the middle.
  SLICESORT_HD_ABI_TAG constexpr index_t past_middle() const { return blocks() - ends; }

  // Candidates of a middle block, in order: the blocks of the pool before its window, then those
  // after it.
  struct candidate_blocks {
    index_t first, before, after_window, count, draws;  // `before`: number before the window

    SLICESORT_HD_ABI_TAG constexpr index_t block_at(index_t index) const {
      return index < before ? first + index : after_window + (index - before);
    }
    // Index of a block among the candidates; outside [0, count) if it is not a candidate.
    SLICESORT_HD_ABI_TAG constexpr index_t index_of(index_t column) const {
      return column < after_window ? column - first : column - after_window + before;
    }
  };
  SLICESORT_HD_ABI_TAG constexpr candidate_blocks candidates_of(index_t row) const {
    index_t const half = window / 2, last = min_of(past_middle(), pool + 1),
                  before = max_of(min_of(row - half, last) - ends, 0),
                  after_window = max_of(row + half + 1, ends),
                  count = before + max_of(last - after_window, 0);
    return {ends, before, after_window, count, min_of(random, count)};
  }
  // Index that step `draw` of the shuffle of `count` indices swaps with index `draw`.
  SLICESORT_HD_ABI_TAG static constexpr index_t swap_target(std::uint64_t key, index_t draw,
                                                            index_t count) {
    return draw + detail::uniform_below(key, static_cast<std::uint64_t>(draw), count - draw);
  }
  SLICESORT_HD_ABI_TAG constexpr std::uint64_t hash_key_of(index_t row) const {
    return detail::counter_hash64(
        seed, (static_cast<std::uint64_t>(head) << 32) + static_cast<std::uint64_t>(row));
  }

  SLICESORT_HD_ABI_TAG constexpr bool sees_block(index_t row, index_t column) const {
    index_t const half = window / 2;
    if (row < ends || row >= past_middle() || column < ends || column >= past_middle()) return true;
    if (row - half <= column && column <= row + half) return true;
    return draws(row, column);
  }
  // True if block `row` draws block `column`, both in the middle and outside each other's window:
  // follows the index of this block through the first draws of a Fisher-Yates shuffle.
  SLICESORT_HD_ABI_TAG constexpr bool draws(index_t row, index_t column) const {
    candidate_blocks const candidates = candidates_of(row);
    index_t index = candidates.index_of(column);
    if (index >= candidates.count) return false;
    std::uint64_t const key = hash_key_of(row);
    for (index_t draw = 0; draw < candidates.draws; ++draw) {
      index_t const other = swap_target(key, draw, candidates.count);
      if (index == other) return true;
      if (index == draw) index = other;
    }
    return false;
  }
  // True if block `row` draws one of the blocks [first, last), which are outside its window. If
  // there are fewer draws than blocks, traces the draws back to their blocks.
  SLICESORT_HD_ABI_TAG constexpr bool draws_any(index_t row, index_t first, index_t last) const {
    candidate_blocks const candidates = candidates_of(row);
    if (last - first <= candidates.draws / 2) {
      for (index_t column = first; column < last; ++column)
        if (draws(row, column)) return true;
      return false;
    }
    std::uint64_t const key = hash_key_of(row);
    for (index_t draw = 0; draw < candidates.draws; ++draw) {
      index_t index = swap_target(key, draw, candidates.count);
      for (index_t before = draw; before-- > 0;)
        if (index == swap_target(key, before, candidates.count)) index = before;
      index_t const block_drawn = candidates.block_at(index);
      if (first <= block_drawn && block_drawn < last) return true;
    }
    return false;
  }
};

}  // namespace mask

SLICESORT_TYPES_END
