// SPDX-License-Identifier: Apache-2.0
/// Masks of attention: the keys that a query attends to. This header has the simplest masks and the
/// combinations of two. It includes `masks/sparse_mask.hpp` and `masks/bigbird.hpp`, whose masks
/// skip tiles within a range, and `masks/stored_mask.hpp`, whose masks read your tensors. For
/// user-defined masks see `mask_protocol.hpp`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/policies/masks/bigbird.hpp>
#include <slicesort/policies/masks/sparse_mask.hpp>
#include <slicesort/policies/masks/stored_mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_TYPES_BEGIN

namespace mask {

/// Every query attends to every key.
struct full {
  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t, index_t keys) const { return {0, keys}; }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t, index_t, index_t, index_t) const {
    return true;
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t, index_t, index_t, index_t) const {
    return true;
  }
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t, index_t) const {
    return ~std::uint64_t{0};
  }
};

/// Query `i` attends to keys `0 .. i + offset`. If the queries are the last rows of a longer
/// sequence of keys, set `offset = keys - queries`.
///
/// - **Errors** `invalid_argument` unless `offset` is in -2^40..2^40.
struct causal {
  index_t offset = 0;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t) const {
    return {0, query + offset + 1};
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    return detail::pair_distances({first_query, last_query, first_key, last_key}).min <= offset;
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    return detail::pair_distances({first_query, last_query, first_key, last_key}).max <= offset;
  }
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t first_query, index_t key) const {
    return detail::bits_from(key - offset - first_query);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return detail::is_mask_parameter(offset, -detail::max_mask_parameter)
               ? nullptr
               : "causal: offset must be in -2^40..2^40";
  }
};

/// Query `i` attends to keys `i - left .. i + right`: a sliding window (Longformer).
///
/// - **Errors** `invalid_argument` unless `left` and `right` are in 0..2^40.
struct window {
  index_t left = 0, right = 0;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t) const {
    return {query - left, query + right + 1};
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_distances const distances({first_query, last_query, first_key, last_key});
    return distances.min <= right && -left <= distances.max;
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_distances const distances({first_query, last_query, first_key, last_key});
    return -left <= distances.min && distances.max <= right;
  }
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t first_query, index_t key) const {
    index_t const distance = key - first_query;
    return detail::bits_from(distance - right) & ~detail::bits_from(distance + left + 1);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return detail::is_mask_parameter(left, 0) && detail::is_mask_parameter(right, 0)
               ? nullptr
               : "window: left and right must be in 0..2^40";
  }
};

/// Queries and keys are cut into blocks of `size` rows; a query attends to its own block (local
/// attention; the chunks of MEGA-chunk).
///
/// - **Errors** `invalid_argument` unless `size` is in 1..2^40.
struct block_local {
  index_t size = 1;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t) const {
    index_t const first = query / size * size;
    return {first, first + size};
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_range const blocks =
        detail::blocks_of({first_query, last_query, first_key, last_key}, size);
    return blocks.first_query < blocks.last_key && blocks.first_key < blocks.last_query;
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_range const blocks =
        detail::blocks_of({first_query, last_query, first_key, last_key}, size);
    return blocks.last_query - blocks.first_query == 1 && blocks.last_key - blocks.first_key == 1 &&
           blocks.first_query == blocks.first_key;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return detail::is_mask_parameter(size, 1) ? nullptr : "block_local: size must be in 1..2^40";
  }
};

/// Query `i` attends to the keys whose distance from `i` is a multiple of `stride`, or less than
/// `near_by` (Sparse Transformer's strided pattern). With `near_by` 0 it is the local attention of
/// the Long Range Arena's code, with `stride` blocks.
///
/// - **Errors** `invalid_argument` unless `stride` is at least 1, and `near_by` at least 0.
struct strided {
  index_t stride = 1, near_by = 0;

  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    index_t const distance = query < key ? key - query : query - key;
    return distance < near_by || distance % stride == 0;
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_distances const distances({first_query, last_query, first_key, last_key});
    return (near_by > 0 && distances.min < near_by && -near_by < distances.max) ||
           detail::has_multiple(distances.min, distances.max, stride);
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_distances const distances({first_query, last_query, first_key, last_key});
    return detail::are_multiples(distances.min, distances.max < -near_by ? distances.max : -near_by,
                                 stride) &&
           detail::are_multiples(distances.min > near_by ? distances.min : near_by, distances.max,
                                 stride);
  }
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t first_query, index_t key) const {
    index_t const distance = key - first_query, remainder = distance % stride,
                  first = remainder < 0 ? remainder + stride : remainder,
                  radius =
                      near_by < detail::max_mask_parameter ? near_by : detail::max_mask_parameter;
    std::uint64_t multiples = first < 64 ? std::uint64_t{1} << first : 0;
    for (index_t step = stride; step < 64; step *= 2) multiples |= multiples << step;
    return multiples |
           (detail::bits_from(distance - radius + 1) & ~detail::bits_from(distance + radius));
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return 1 <= stride && 0 <= near_by ? nullptr
                                       : "strided: stride must be at least 1, near_by at least 0";
  }
};

/// Keys that both masks allow: `both{causal{}, strided{64}}`.
///
/// - **Errors** `invalid_argument` unless both masks accept the call.
template <class A, class B>
struct both {
  A a;
  B b;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t keys) const {
    key_range const range_a = detail::clamped_key_range(a, query, keys),
                    range_b = detail::clamped_key_range(b, query, keys);
    return {range_a.first > range_b.first ? range_a.first : range_b.first,
            range_a.last < range_b.last ? range_a.last : range_b.last};
  }
  template <class M = A, std::enable_if_t<detail::has_allows<M> || detail::has_allows<B>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    return detail::allows_key(a, query, key) && detail::allows_key(b, query, key);
  }
  /// May be true although the masks allow only different pairs of the range.
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_range const r{first_query, last_query, first_key, last_key};
    return detail::meets_pairs(a, r) && detail::meets_pairs(b, r);
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_range const r{first_query, last_query, first_key, last_key};
    return detail::covers_pairs(a, r) && detail::covers_pairs(b, r);
  }
  template <class M = A,
            std::enable_if_t<detail::has_query_bits<M> && detail::has_query_bits<B>, int> = 0>
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t first_query, index_t key) const {
    return a.query_bits(first_query, key) & b.query_bits(first_query, key);
  }
  template <class M = A,
            std::enable_if_t<detail::has_for_head<M> || detail::has_for_head<B>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr both<detail::head_mask_t<M>, detail::head_mask_t<B>> for_head(
      index_t sample, index_t head) const {
    return {detail::mask_of_head(a, sample, head), detail::mask_of_head(b, sample, head)};
  }
  SLICESORT_ABI_TAG constexpr char const* validate(mask_call call) const {
    char const* const error = detail::mask_error(a, call);
    return error != nullptr ? error : detail::mask_error(b, call);
  }
};
template <class A, class B>
both(A, B) -> both<A, B>;

/// Keys that at least one of two masks allows: `either{window{64, 64}, globals{1}}`. Their ranges
/// must not depend on the number of keys, except for clamping at the last key.
///
/// - **Errors** `invalid_argument` unless both masks accept the call; also for ranges that depend
///   on the number of keys.
template <class A, class B>
struct either {
  A a;
  B b;

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t keys) const {
    key_range const range_a = detail::clamped_key_range(a, query, keys),
                    range_b = detail::clamped_key_range(b, query, keys);
    if (range_a.first == range_a.last) return range_b;
    if (range_b.first == range_b.last) return range_a;
    return {range_a.first < range_b.first ? range_a.first : range_b.first,
            range_a.last > range_b.last ? range_a.last : range_b.last};
  }
  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    return detail::is_visible_pair(a, query, key) || detail::is_visible_pair(b, query, key);
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    detail::pair_range const r{first_query, last_query, first_key, last_key};
    return detail::meets_pairs(a, r) || detail::meets_pairs(b, r);
  }
  /// May be false although the two masks together cover the range.
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    detail::pair_range const r{first_query, last_query, first_key, last_key};
    return detail::covers_pairs(a, r) || detail::covers_pairs(b, r);
  }
  template <class M = A,
            std::enable_if_t<detail::has_query_bits<M> && detail::has_query_bits<B>, int> = 0>
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t first_query, index_t key) const {
    return a.query_bits(first_query, key) | b.query_bits(first_query, key);
  }
  template <class M = A,
            std::enable_if_t<detail::has_for_head<M> || detail::has_for_head<B>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr either<detail::head_mask_t<M>, detail::head_mask_t<B>> for_head(
      index_t sample, index_t head) const {
    return {detail::mask_of_head(a, sample, head), detail::mask_of_head(b, sample, head)};
  }
  SLICESORT_ABI_TAG constexpr char const* validate(mask_call call) const {
    if (char const* const error = detail::mask_error(a, call)) return error;
    if (char const* const error = detail::mask_error(b, call)) return error;
    return are_ranges_clamped_at(a, call.keys) && are_ranges_clamped_at(b, call.keys)
               ? nullptr
               : "either: ranges of its masks must not depend on the number of keys";
  }

 private:
  // True if fewer keys only clamp the ranges. Tests only some queries.
  template <class M>
  SLICESORT_ABI_TAG static constexpr bool are_ranges_clamped_at(M const& m, index_t keys) {
    for (index_t const fewer : {keys / 2, keys - 1})
      for (index_t const query : {index_t{0}, keys / 2, keys - 1})
        if (keys > 0 && !are_equal(detail::clamped_key_range(m, query, fewer),
                                   clamp_range(detail::clamped_key_range(m, query, keys), fewer)))
          return false;
    return true;
  }
  SLICESORT_ABI_TAG static constexpr key_range clamp_range(key_range r, index_t keys) {
    index_t const last = r.last < keys ? r.last : keys;
    return r.first < last ? key_range{r.first, last} : key_range{0, 0};
  }
  SLICESORT_ABI_TAG static constexpr bool are_equal(key_range r, key_range s) {
    return r.first == s.first && r.last == s.last;
  }
};
template <class A, class B>
either(A, B) -> either<A, B>;

}  // namespace mask

SLICESORT_TYPES_END
