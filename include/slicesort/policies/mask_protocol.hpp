// SPDX-License-Identifier: Apache-2.0
/// The protocol of masks. A mask is a semantic policy that selects the keys of a query; the
/// library's are in `mask.hpp`. A user-defined mask is any copyable type with one or both of
/// - `key_range range(index_t query, index_t keys) const`: the query attends to no key outside the
///   range. Tiles of keys outside are skipped. The range is clamped to `[0, keys)`.
/// - `bool allows(index_t query, index_t key) const`: true if the query attends to this key of its
///   range. Called for keys in `[0, keys)` only.
///
/// It may add
/// - `bool meets(index_t first_query, index_t last_query, index_t first_key, index_t last_key)
///   const`: false if none of the queries `first_query` to `last_query - 1` attends to any of the
///   keys `first_key` to `last_key - 1`. True is always safe. Together with `allows` it makes a
///   mask sparse: attention skips tiles for which it is false, without a list of blocks.
/// - `bool covers(...)` with the same arguments: true if each of these queries attends to each of
///   these keys. False is always safe. Where it is true, `allows` is not called.
/// - `std::uint64_t query_bits(index_t first_query, index_t key) const`: bit i is set if query
///   `first_query + i` attends to the key, which is in `[0, keys)`. The host calls it instead of
///   the functions above for the pairs of a tile, which is faster for patterns that do not consist
///   of blocks.
/// - `auto for_head(index_t head) const`, or `for_head(index_t sample, index_t head) const`: the
///   mask of a head, if masks differ between heads or samples. It has the functions above.
/// - `char const* validate(index_t keys) const`, or `validate(mask_call) const`: returns null or
///   the error of its parameters.
///
/// `meets` and `covers` are called for nonempty ranges. For `exec::cuda` all functions except
/// `validate` and `query_bits` must be `__host__ __device__`, like those of the masks in
/// `mask.hpp`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// Keys `first, first + 1, ..., last - 1`; none if `last <= first`.
struct key_range {
  index_t first, last;
};

/// Properties of the call that a mask is validated for: the number of keys, the numbers of queries,
/// samples and query heads (-1 if unknown), and if samples have key lengths
/// (`attention_options::lengths`).
struct mask_call {
  index_t keys, queries = -1;
  bool has_lengths = false;
  index_t batch = -1, heads = -1;

  SLICESORT_ABI_TAG constexpr mask_call(index_t keys_of_call, index_t queries_of_call = -1,
                                        bool lengths = false, index_t samples = -1,
                                        index_t query_heads = -1)
      : keys(keys_of_call),
        queries(queries_of_call),
        has_lengths(lengths),
        batch(samples),
        heads(query_heads) {}
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// True if Call<Mask>, the type of a member call, is valid and converts to Result.
template <class Result, template <class> class Call, class Mask, class = void>
inline constexpr bool has_call = false;
template <class Result, template <class> class Call, class Mask>
inline constexpr bool
    has_call<Result, Call, Mask, std::enable_if_t<std::is_convertible_v<Call<Mask>, Result>>> =
        true;

template <class M>
using range_call = decltype(std::declval<M const&>().range(index_t{}, index_t{}));
template <class Mask>
inline constexpr bool has_range = has_call<key_range, range_call, Mask>;

template <class M>
using allows_call = decltype(std::declval<M const&>().allows(index_t{}, index_t{}));
template <class Mask>
inline constexpr bool has_allows = has_call<bool, allows_call, Mask>;

template <class M>
using meets_call =
    decltype(std::declval<M const&>().meets(index_t{}, index_t{}, index_t{}, index_t{}));
template <class Mask>
inline constexpr bool has_meets = has_call<bool, meets_call, Mask>;

template <class M>
using covers_call =
    decltype(std::declval<M const&>().covers(index_t{}, index_t{}, index_t{}, index_t{}));
template <class Mask>
inline constexpr bool has_covers = has_call<bool, covers_call, Mask>;

template <class M>
using query_bits_call = decltype(std::declval<M const&>().query_bits(index_t{}, index_t{}));
template <class Mask, class = void>
inline constexpr bool has_query_bits = false;
template <class Mask>
inline constexpr bool
    has_query_bits<Mask, std::enable_if_t<std::is_same_v<query_bits_call<Mask>, std::uint64_t>>> =
        true;

template <class Mask, class = void>
inline constexpr bool has_for_sample = false;
template <class Mask>
inline constexpr bool has_for_sample<
    Mask, std::void_t<decltype(std::declval<Mask const&>().for_head(index_t{}, index_t{}))>> = true;
template <class Mask, class = void>
inline constexpr bool has_for_head = has_for_sample<Mask>;
template <class Mask>
inline constexpr bool
    has_for_head<Mask, std::void_t<decltype(std::declval<Mask const&>().for_head(index_t{}))>> =
        true;

template <class Mask>
SLICESORT_HD constexpr auto mask_of_head(Mask const& mask, index_t sample, index_t head) {
  if constexpr (has_for_sample<Mask>)
    return mask.for_head(sample, head);
  else if constexpr (has_for_head<Mask>)
    return (void)sample, mask.for_head(head);
  else
    return (void)sample, (void)head, mask;
}
template <class Mask>
using head_mask_t = decltype(mask_of_head(std::declval<Mask const&>(), index_t{}, index_t{}));

template <class Mask>
using is_mask = std::bool_constant<has_range<head_mask_t<Mask>> || has_allows<head_mask_t<Mask>>>;

// True if tiles may be skipped within the ranges of a mask. A mask that has only ranges needs no
// further test.
template <class Mask>
inline constexpr bool is_sparse = has_meets<head_mask_t<Mask>>&& has_allows<head_mask_t<Mask>>;

// Queries [first_query, last_query) and keys [first_key, last_key).
struct pair_range {
  index_t first_query, last_query, first_key, last_key;
};

// True if any of the pairs may be visible; true if the mask cannot tell.
template <class Mask>
SLICESORT_HD constexpr bool meets_pairs(Mask const& mask, pair_range r) {
  if constexpr (has_meets<Mask>)
    return mask.meets(r.first_query, r.last_query, r.first_key, r.last_key);
  else
    return (void)mask, (void)r, true;
}
// True if all pairs are visible; false if the mask cannot tell.
template <class Mask>
SLICESORT_HD constexpr bool covers_pairs(Mask const& mask, pair_range r) {
  if constexpr (has_covers<Mask>)
    return mask.covers(r.first_query, r.last_query, r.first_key, r.last_key);
  else
    return (void)mask, (void)r, false;
}

// The mask's range within [0, keys); empty ranges are [0, 0).
template <class Mask>
SLICESORT_HD constexpr key_range clamped_key_range(Mask const& mask, index_t query, index_t keys) {
  if constexpr (has_range<Mask>) {
    key_range const range = mask.range(query, keys);
    index_t const first = range.first > 0 ? range.first : 0;
    index_t const last = range.last < keys ? range.last : keys;
    return first < last ? key_range{first, last} : key_range{0, 0};
  } else {
    (void)mask, (void)query;
    return {0, keys};
  }
}
// True if a key of the range is visible.
template <class Mask>
SLICESORT_HD constexpr bool allows_key(Mask const& mask, index_t query, index_t key) {
  if constexpr (has_allows<Mask>)
    return mask.allows(query, key);
  else
    return (void)mask, (void)query, (void)key, true;
}
// True if a query attends to a key, for a mask whose range does not depend on the number of keys.
template <class Mask>
SLICESORT_HD constexpr bool is_visible_pair(Mask const& mask, index_t query, index_t key) {
  if constexpr (has_range<Mask>) {
    key_range const range = mask.range(query, key + 1);
    if (key < range.first || range.last <= key) return false;
  }
  return allows_key(mask, query, key);
}

template <class Mask, class Call, class = void>
inline constexpr bool validates = false;
template <class Mask, class Call>
inline constexpr bool validates<
    Mask, Call, std::void_t<decltype(std::declval<Mask const&>().validate(std::declval<Call>()))>> =
    true;

template <class Mask>
constexpr char const* mask_error(Mask const& mask, mask_call call) {
  if constexpr (validates<Mask, mask_call>)
    return mask.validate(call);
  else if constexpr (validates<Mask, index_t>)
    return mask.validate(call.keys);
  else
    return (void)mask, (void)call, nullptr;
}

// Helpers of the library's masks.

// Range of distances (key minus query) of the pairs: `min` to `max`, inclusive.
struct pair_distances {
  index_t min, max;

  SLICESORT_HD constexpr explicit pair_distances(pair_range r)
      : min(r.first_key - (r.last_query - 1)), max(r.last_key - 1 - r.first_query) {}
};
// True if any, or all, of the integers `first .. last` are multiples of `step`.
SLICESORT_HD constexpr bool has_multiple(index_t first, index_t last, index_t step) {
  if (first > last) return false;
  index_t const remainder = last % step;  // has the sign of last
  return last - (remainder < 0 ? remainder + step : remainder) >= first;
}
SLICESORT_HD constexpr bool are_multiples(index_t first, index_t last, index_t step) {
  return first > last || step == 1 || (first == last && first % step == 0);
}

// Mask of the bits n to 63: all bits if n <= 0, no bits if n >= 64.
constexpr std::uint64_t bits_from(index_t n) {
  return n >= 64 ? 0 : ~std::uint64_t{0} << (n > 0 ? n : 0);
}

// Index of the block of `size` rows that contains a row. 31-bit values are divided in 32 bits,
// which is several times faster; GPUs have no instruction for a 64-bit division.
SLICESORT_HD constexpr index_t block_of(index_t row, index_t size) {
  return (row | size) >> 31 == 0 ? static_cast<index_t>(static_cast<std::uint32_t>(row) /
                                                        static_cast<std::uint32_t>(size))
                                 : row / size;
}
// Blocks that contain the queries and keys.
SLICESORT_HD constexpr pair_range blocks_of(pair_range r, index_t size) {
  return {block_of(r.first_query, size), block_of(r.last_query - 1, size) + 1,
          block_of(r.first_key, size), block_of(r.last_key - 1, size) + 1};
}

inline constexpr index_t max_mask_parameter = index_t{1} << 40;
constexpr bool is_mask_parameter(index_t value, index_t minimum) {
  return minimum <= value && value <= max_mask_parameter;
}

SLICESORT_DETAIL_END
