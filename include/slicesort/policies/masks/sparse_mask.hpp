// SPDX-License-Identifier: Apache-2.0
/// Sparse masks, for which attention skips tiles inside the key range: Sparse Transformer's fixed
/// pattern, dilated windows, global tokens, block tables, and chunks that look back. Part of
/// `mask.hpp`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_TYPES_BEGIN

namespace mask {

/// Queries and keys are cut into blocks of `block` rows. A query attends to its own block and to
/// the last `tail` keys of every block (Sparse Transformer's fixed pattern); with `first_column`
/// also to the first key of every block, as the Long Range Arena's code does. Published models are
/// causal: `both{causal{}, fixed{128, 8}}`.
///
/// - **Errors** `invalid_argument` unless `block` is in 1..2^40, and `tail` in 0..block.
struct fixed {
  index_t block = 1, tail = 0;
  bool first_column = false;

  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    index_t const key_block = detail::block_of(key, block), offset = key - key_block * block;
    return offset >= block - tail || (first_column && offset == 0) ||
           detail::block_of(query, block) == key_block;
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_range const blocks =
        detail::blocks_of({first_query, last_query, first_key, last_key}, block);
    if (blocks.first_query < blocks.last_key && blocks.first_key < blocks.last_query) return true;
    index_t const offset = column_offset(first_key);
    return offset < columns() || (columns() > 0 && first_key + (block - offset) < last_key);
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    index_t const query_block = detail::block_of(first_query, block);
    if (query_block != detail::block_of(last_query - 1, block))
      return are_columns(first_key, last_key);
    // Keys before and after the query's block.
    index_t const first = query_block * block, last = first + block;
    return are_columns(first_key, last_key < first ? last_key : first) &&
           are_columns(first_key > last ? first_key : last, last_key);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    if (!detail::is_mask_parameter(block, 1)) return "fixed: block must be in 1..2^40";
    return 0 <= tail && tail <= block ? nullptr : "fixed: tail must be in 0..block";
  }

 private:
  // All queries see `columns()` neighboring keys once per block: the last keys of a block and the
  // first key of the next. `column_offset` is the distance of a key from the first of these keys,
  // modulo the block size.
  SLICESORT_HD_ABI_TAG constexpr index_t columns() const { return tail + (first_column ? 1 : 0); }
  SLICESORT_HD_ABI_TAG constexpr index_t column_offset(index_t key) const {
    index_t const shifted = key + tail;
    return shifted - detail::block_of(shifted, block) * block;
  }
  SLICESORT_HD_ABI_TAG constexpr bool are_columns(index_t first, index_t last) const {
    return first >= last || columns() >= block ||
           column_offset(first) + (last - first) <= columns();
  }
};

/// Query `i` attends to keys `i - left * step, ..., i - step, i, i + step, ..., i + right * step`
/// (Longformer's dilated window).
///
/// - **Errors** `invalid_argument` unless `step` is in 1..2^40, and `left * step` and `right *
///   step` are in 0..2^40.
struct dilated_window {
  index_t left = 0, right = 0, step = 1;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t) const {
    return {query - left * step, query + right * step + 1};
  }
  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    index_t const distance = key - query;
    return -left * step <= distance && distance <= right * step && distance % step == 0;
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_distances const distances({first_query, last_query, first_key, last_key});
    index_t const min_distance = -left * step, max_distance = right * step;
    return detail::has_multiple(distances.min > min_distance ? distances.min : min_distance,
                                distances.max < max_distance ? distances.max : max_distance, step);
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_distances const distances({first_query, last_query, first_key, last_key});
    return -left * step <= distances.min && distances.max <= right * step &&
           detail::are_multiples(distances.min, distances.max, step);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    if (!detail::is_mask_parameter(step, 1)) return "dilated_window: step must be in 1..2^40";
    index_t const limit = detail::max_mask_parameter / step;
    return 0 <= left && left <= limit && 0 <= right && right <= limit
               ? nullptr
               : "dilated_window: left and right must be at least 0, times step at most 2^40";
  }
};

/// The first `count` queries attend to every key, and every query attends to the first `count` keys
/// (Longformer's global tokens, a class token): for `either{window{255, 256}, globals{1}}`.
///
/// - **Errors** `invalid_argument` unless `count` is in 0..2^40.
struct globals {
  index_t count = 1;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t keys) const {
    return {0, query < count ? keys : count};
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t, index_t first_key,
                                            index_t) const {
    return first_query < count || first_key < count;
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t, index_t last_query, index_t,
                                             index_t last_key) const {
    return last_query <= count || last_key <= count;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return detail::is_mask_parameter(count, 0) ? nullptr : "globals: count must be in 0..2^40";
  }
};

/// Queries and keys are cut into blocks of `block` rows, and a user-supplied table selects the key
/// blocks of every query block. Bit `c % 8` (lowest first) of byte `r * pitch() + c / 8` is set if
/// query block `r` attends to key block `c`. This is the format of
/// `numpy.packbits(pairs, axis=1, bitorder="little")`. The table must be in device memory for
/// `exec::cuda` and must not change until backward is done. Queries past the table attend to no
/// key. Its element type is `std::uint8_t`, its shape `[bytes()]`.
///
/// - **Errors** `invalid_argument` unless `block` is in 1..2^40, `keys` and `queries` are those of
///   the call and at most 2^40, and the table has a bit for every pair of blocks.
struct block_pairs {
  tensor1<std::uint8_t const> table;
  index_t block = 1;
  index_t keys = 0;     ///< the number of keys of the call
  index_t queries = 0;  ///< the number of queries of the call, one table row per block of queries;
                        ///< 0 if it equals `keys`

  /// Bytes per row of the table: one bit per key block.
  SLICESORT_HD_ABI_TAG constexpr index_t pitch() const {
    return keys == 0 ? 0 : (detail::block_of(keys - 1, block) + 1 + 7) / 8;
  }
  SLICESORT_HD_ABI_TAG constexpr index_t bytes() const {
    index_t const rows = queries == 0 ? keys : queries;
    return rows == 0 ? 0 : pitch() * (detail::block_of(rows - 1, block) + 1);
  }

  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    index_t const row_start = detail::block_of(query, block) * pitch(),
                  column = detail::block_of(key, block);
    return row_start < bytes() && (table(row_start + column / 8) >> column % 8 & 1) != 0;
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    return has_bit({first_query, last_query, first_key, last_key}, 0);
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_range const r{first_query, last_query, first_key, last_key};
    return detail::block_of(last_query - 1, block) * pitch() < bytes() && !has_bit(r, 0xff);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(mask_call call) const {
    if (!detail::is_mask_parameter(block, 1)) return "block_pairs: block must be in 1..2^40";
    if (keys != call.keys) return "block_pairs: keys must be the number of keys";
    if (call.queries > 0 && (queries == 0 ? keys : queries) != call.queries)
      return "block_pairs: queries must be the number of queries, if they are not as many as keys";
    if (!detail::is_mask_parameter(keys, 0) || !detail::is_mask_parameter(queries, 0))
      return "block_pairs: keys and queries must be in 0..2^40";
    // Uses a division, because the product may overflow.
    index_t const rows = queries == 0 ? keys : queries;
    if (rows == 0 || keys == 0) return nullptr;
    return table.data() != nullptr && table.size() / pitch() > (rows - 1) / block
               ? nullptr
               : "block_pairs: table must have a bit for every pair of blocks";
  }

 private:
  // True if any bit of these pairs of blocks is set (or clear, if `xor_mask` is 0xff).
  SLICESORT_HD_ABI_TAG constexpr bool has_bit(detail::pair_range r, int xor_mask) const {
    detail::pair_range const blocks = detail::blocks_of(r, block);
    index_t const first_byte = blocks.first_key / 8, last_byte = (blocks.last_key - 1) / 8;
    for (index_t row = blocks.first_query; row < blocks.last_query; ++row) {
      if (row * pitch() >= bytes()) return false;
      for (index_t byte = first_byte; byte <= last_byte; ++byte) {
        int bits = table(row * pitch() + byte) ^ xor_mask;
        if (byte == first_byte) bits &= 0xff << blocks.first_key % 8;
        if (byte == last_byte) bits &= 0xff >> (7 - (blocks.last_key - 1) % 8);
        if ((bits & 0xff) != 0) return true;
      }
    }
    return false;
  }
};

/// Queries and keys are cut into chunks of `size` rows; a query attends to its own chunk and the
/// previous chunk (Reformer). If `circular`, the first chunk attends to the last one, which may be
/// shorter. Then `keys` must be the number of keys, and samples must not have lengths, which would
/// change the last chunk. Without look-back this is `block_local`.
///
/// - **Errors** `invalid_argument` unless `size` is in 1..2^40; if `circular`, unless `keys` is the
///   number of keys and no sample has a length.
struct chunk_back {
  index_t size = 1;
  bool circular = false;
  index_t keys = 0;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t all_keys) const {
    index_t const chunk = detail::block_of(query, size);
    if (chunk == 0 && circular) return {0, all_keys};
    return {(chunk - 1) * size, (chunk + 1) * size};
  }
  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    return allows_chunks(detail::block_of(query, size), detail::block_of(key, size));
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_range const chunks =
        detail::blocks_of({first_query, last_query, first_key, last_key}, size);
    return (chunks.first_query - 1 < chunks.last_key && chunks.first_key < chunks.last_query) ||
           (circular && chunks.first_query == 0 && chunks.first_key <= last() &&
            last() < chunks.last_key);
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_range const chunks =
        detail::blocks_of({first_query, last_query, first_key, last_key}, size);
    // A query sees at most two chunks, and no chunk is visible to four neighboring chunks.
    if (chunks.last_query - chunks.first_query > 3 || chunks.last_key - chunks.first_key > 2)
      return false;
    for (index_t q = chunks.first_query; q < chunks.last_query; ++q)
      for (index_t k = chunks.first_key; k < chunks.last_key; ++k)
        if (!allows_chunks(q, k)) return false;
    return true;
  }
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t first_query, index_t key) const {
    index_t const chunk = detail::block_of(key, size), distance = chunk * size - first_query;
    std::uint64_t const bits =
        detail::bits_from(distance) & ~detail::bits_from(distance + 2 * size);
    return circular && chunk == last() ? bits | ~detail::bits_from(size - first_query) : bits;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(mask_call call) const {
    if (!detail::is_mask_parameter(size, 1)) return "chunk_back: size must be in 1..2^40";
    if (circular && keys != call.keys)
      return "chunk_back: keys must be the number of keys if it is circular";
    return circular && call.has_lengths
               ? "chunk_back: samples must not have lengths of their own if it is circular"
               : nullptr;
  }

 private:
  SLICESORT_HD_ABI_TAG constexpr index_t last() const {
    return keys == 0 ? 0 : detail::block_of(keys - 1, size);
  }
  SLICESORT_HD_ABI_TAG constexpr bool allows_chunks(index_t query, index_t key) const {
    return key == query || key + 1 == query || (circular && query == 0 && key == last());
  }
};

}  // namespace mask

SLICESORT_TYPES_END
