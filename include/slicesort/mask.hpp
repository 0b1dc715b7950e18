// SPDX-License-Identifier: Apache-2.0
/// Masks of attention, which are semantic policies: they say which keys a query looks at. A mask of
/// your own is any copyable type with one or both of
/// - `key_range range(index_t query, index_t keys) const`: no key outside the range is looked at,
///   and whole tiles of keys are left out. What lies outside `[0, keys)` is cut off.
/// - `bool allows(index_t query, index_t key) const`: whether a key of the range is looked at.
///   Asked for keys in `[0, keys)` alone.
///
/// It may add
/// - `bool meets(index_t first_query, index_t last_query, index_t first_key, index_t last_key)
///   const`: false if none of the queries `first_query .. last_query - 1` looks at any of the keys
///   `first_key .. last_key - 1`. True is always safe. Beside `allows` it makes a mask sparse:
///   what does not meet is left out, without a list of what does.
/// - `bool covers(..)` of the same arguments: true if each of these queries looks at each of these
///   keys. False is always safe. Where it is true, `allows` is not asked.
/// - `auto for_head(index_t head) const`: the mask of a head, if heads differ. It answers all of
///   the above.
/// - `char const* validate(index_t keys) const`: null, or what is wrong with its parameters.
///
/// `meets` and `covers` are asked for ranges that are not empty. For `exec::cuda` all but `validate`
/// must be `__host__ __device__`, as these are.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace v0 {

/// Keys `first, first + 1, .., last - 1`; none if `last <= first`.
struct key_range {
  index_t first, last;
};

namespace detail {

template <class Mask, class = void>
inline constexpr bool has_range = false;
template <class Mask>
inline constexpr bool has_range<
    Mask, std::enable_if_t<std::is_convertible_v<
              decltype(std::declval<Mask const&>().range(index_t{}, index_t{})), key_range>>> =
    true;

template <class Mask, class = void>
inline constexpr bool has_allows = false;
template <class Mask>
inline constexpr bool has_allows<
    Mask, std::enable_if_t<std::is_convertible_v<
              decltype(std::declval<Mask const&>().allows(index_t{}, index_t{})), bool>>> = true;

template <class Mask, class = void>
inline constexpr bool has_meets = false;
template <class Mask>
inline constexpr bool has_meets<
    Mask, std::enable_if_t<std::is_convertible_v<decltype(std::declval<Mask const&>().meets(
                                                     index_t{}, index_t{}, index_t{}, index_t{})),
                                                 bool>>> = true;

template <class Mask, class = void>
inline constexpr bool has_covers = false;
template <class Mask>
inline constexpr bool has_covers<
    Mask, std::enable_if_t<std::is_convertible_v<decltype(std::declval<Mask const&>().covers(
                                                     index_t{}, index_t{}, index_t{}, index_t{})),
                                                 bool>>> = true;

template <class Mask, class = void>
inline constexpr bool has_for_head = false;
template <class Mask>
inline constexpr bool
    has_for_head<Mask, std::void_t<decltype(std::declval<Mask const&>().for_head(index_t{}))>> =
        true;

// The mask of one head.
template <class Mask>
SLICESORT_HD constexpr auto mask_of_head(Mask const& mask, index_t head) {
  if constexpr (has_for_head<Mask>)
    return mask.for_head(head);
  else
    return (void)head, mask;
}
template <class Mask>
using head_mask_t = decltype(mask_of_head(std::declval<Mask const&>(), index_t{}));

// Whether tiles may be left out within the ranges of a mask. Ranges alone say already what is left
// out.
template <class Mask>
inline constexpr bool is_sparse = has_meets<head_mask_t<Mask>>&& has_allows<head_mask_t<Mask>>;

// Queries [first_query, last_query) and keys [first_key, last_key).
struct pair_range {
  index_t first_query, last_query, first_key, last_key;
};

// Whether any of the pairs is looked at; true where the mask cannot tell.
template <class Mask>
SLICESORT_HD constexpr bool meets_pairs(Mask const& mask, pair_range r) {
  if constexpr (has_meets<Mask>)
    return mask.meets(r.first_query, r.last_query, r.first_key, r.last_key);
  else
    return (void)mask, (void)r, true;
}
// Whether each of the pairs is looked at; false where the mask cannot tell.
template <class Mask>
SLICESORT_HD constexpr bool covers_pairs(Mask const& mask, pair_range r) {
  if constexpr (has_covers<Mask>)
    return mask.covers(r.first_query, r.last_query, r.first_key, r.last_key);
  else
    return (void)mask, (void)r, false;
}

// The mask's range within [0, keys); empty ranges are [0, 0).
template <class Mask>
SLICESORT_HD constexpr key_range range_of_keys(Mask const& mask, index_t query, index_t keys) {
  if constexpr (has_range<Mask>) {
    key_range const asked = mask.range(query, keys);
    index_t const first = asked.first > 0 ? asked.first : 0;
    index_t const last = asked.last < keys ? asked.last : keys;
    return first < last ? key_range{first, last} : key_range{0, 0};
  } else {
    (void)mask, (void)query;
    return {0, keys};
  }
}
// Whether a key of the range is looked at.
template <class Mask>
SLICESORT_HD constexpr bool allows_key(Mask const& mask, index_t query, index_t key) {
  if constexpr (has_allows<Mask>)
    return mask.allows(query, key);
  else
    return (void)mask, (void)query, (void)key, true;
}

}  // namespace detail

namespace mask {

/// Every query looks at every key.
struct full {
  SLICESORT_HD constexpr key_range range(index_t, index_t keys) const { return {0, keys}; }
};

/// Query `i` looks at keys `0 .. i + offset`. Where queries are the last rows of a longer sequence
/// of keys, `offset = keys - queries`.
struct causal {
  index_t offset = 0;

  SLICESORT_HD constexpr key_range range(index_t query, index_t) const {
    return {0, query + offset + 1};
  }
  constexpr char const* validate(index_t) const {
    return -limit <= offset && offset <= limit ? nullptr : "causal: offset must be in -2^40..2^40";
  }

 private:
  static constexpr index_t limit = index_t{1} << 40;
};

/// Query `i` looks at keys `i - left .. i + right`: a sliding window (Longformer).
struct window {
  index_t left = 0, right = 0;

  SLICESORT_HD constexpr key_range range(index_t query, index_t) const {
    return {query - left, query + right + 1};
  }
  constexpr char const* validate(index_t) const {
    constexpr index_t limit = index_t{1} << 40;
    return 0 <= left && left <= limit && 0 <= right && right <= limit
               ? nullptr
               : "window: left and right must be in 0..2^40";
  }
};

/// Queries and keys are cut into blocks of `size` rows; a query looks at its own block (local
/// attention).
struct block_local {
  index_t size = 1;

  SLICESORT_HD constexpr key_range range(index_t query, index_t) const {
    index_t const first = query / size * size;
    return {first, first + size};
  }
  constexpr char const* validate(index_t) const {
    return 1 <= size && size <= index_t{1} << 40 ? nullptr : "block_local: size must be in 1..2^40";
  }
};

/// Query `i` looks at the keys whose distance from `i` is a multiple of `stride`, or less than
/// `near_by` (Sparse Transformer's strided pattern). With `near_by` 0 that is what the Long Range
/// Arena's code calls local attention, where `stride` is the number of its blocks.
struct strided {
  index_t stride = 1, near_by = 0;

  SLICESORT_HD constexpr bool allows(index_t query, index_t key) const {
    index_t const distance = query < key ? key - query : query - key;
    return distance < near_by || distance % stride == 0;
  }
  constexpr char const* validate(index_t) const {
    return 1 <= stride && 0 <= near_by ? nullptr
                                       : "strided: stride must be at least 1, near_by at least 0";
  }
};

/// The keys that two masks allow: `both{causal{}, strided{64}}`.
template <class A, class B>
struct both {
  A a;
  B b;

  SLICESORT_HD constexpr key_range range(index_t query, index_t keys) const {
    key_range const one = detail::range_of_keys(a, query, keys),
                    two = detail::range_of_keys(b, query, keys);
    return {one.first > two.first ? one.first : two.first,
            one.last < two.last ? one.last : two.last};
  }
  template <class M = A, std::enable_if_t<detail::has_allows<M> || detail::has_allows<B>, int> = 0>
  SLICESORT_HD constexpr bool allows(index_t query, index_t key) const {
    return detail::allows_key(a, query, key) && detail::allows_key(b, query, key);
  }
  constexpr char const* validate(index_t keys) const {
    char const* const what = of(a, keys);
    return what != nullptr ? what : of(b, keys);
  }

 private:
  template <class M>
  static constexpr auto of(M const& m, index_t keys) -> decltype(m.validate(keys)) {
    return m.validate(keys);
  }
  static constexpr char const* of(...) { return nullptr; }
};
template <class A, class B>
both(A, B) -> both<A, B>;

}  // namespace mask
}  // namespace v0
}  // namespace slicesort
