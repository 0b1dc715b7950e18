// SPDX-License-Identifier: Apache-2.0
// What a sparse mask leaves of some queries and keys. Ranges that are neither left out nor looked
// at as a whole are cut in two, so that the cost follows the outline of what is looked at.
#pragma once

#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Where a range of at least two numbers is cut: at a multiple of the greatest power of two, where
// blocks of masks begin.
constexpr index_t cut_of(index_t first, index_t last) {
  index_t cut = last - 1;
  while ((cut & (cut - 1)) > first) cut &= cut - 1;
  return cut;
}

// Sets bits of a tile's pairs: bit i of to[j] is of query + i and key + j.
template <class Mask>
class sparse_pairs {
 public:
  template <class Pairs>
  sparse_pairs(Mask const& mask, index_t keys, Pairs const& tile, std::uint64_t* to)
      : mask_(mask), keys_(keys), query_(tile.query), key_(tile.key), to_(to) {}

  void add(pair_range r) const {
    if (covers_pairs(mask_, r)) return set(r);
    if (!meets_pairs(mask_, r)) return;
    index_t const queries = r.last_query - r.first_query, keys = r.last_key - r.first_key;
    if (queries * keys <= few_pairs) return ask(r);
    pair_range low = r, high = r;
    if (keys == 1 || (queries > 1 && alike(r)))
      low.last_query = high.first_query = cut_of(r.first_query, r.last_query);
    else
      low.last_key = high.first_key = cut_of(r.first_key, r.last_key);
    add(low);
    add(high);
  }

 private:
  // So many are asked about one by one.
  static constexpr index_t few_pairs = 16;

  // Whether the first query treats all keys alike: then queries differ.
  bool alike(pair_range r) const {
    r.last_query = r.first_query + 1;
    return !meets_pairs(mask_, r) || covers_pairs(mask_, r);
  }

  void set(pair_range r) const {
    std::uint64_t const bits = (std::uint64_t{1} << (r.last_query - r.first_query)) - 1;
    for (index_t j = r.first_key; j < r.last_key; ++j)
      to_[j - key_] |= bits << (r.first_query - query_);
  }
  void ask(pair_range r) const {
    for (index_t i = r.first_query; i < r.last_query; ++i) {
      key_range const range = range_of_keys(mask_, i, keys_);
      for (index_t j = r.first_key; j < r.last_key; ++j)
        if (range.first <= j && j < range.last && mask_.allows(i, j))
          to_[j - key_] |= std::uint64_t{1} << (i - query_);
    }
  }

  Mask const& mask_;
  index_t keys_, query_, key_;
  std::uint64_t* to_;
};

// Finds keys that any of some queries looks at.
template <class Mask>
class sparse_keys {
 public:
  sparse_keys(Mask const& mask, int most, index_t* to) : mask_(mask), most_(most), to_(to) {}

  // Returns how many were found; `left` begins behind what has been searched.
  int find(pair_range& left) {
    next_ = left.last_key;
    if (left.first_key < left.last_key) (void)add(left);
    left.first_key = next_;
    return count_;
  }

 private:
  // Returns whether there is room for more.
  bool add(pair_range r) {
    if (count_ == most_) return next_ = r.first_key, false;
    if (!meets_pairs(mask_, r)) return true;
    if (r.last_key - r.first_key == 1 || covers_pairs(mask_, r) || all_met(r)) {
      for (; r.first_key < r.last_key; ++r.first_key) {
        if (count_ == most_) return next_ = r.first_key, false;
        to_[count_++] = r.first_key;
      }
      return true;
    }
    pair_range low = r, high = r;
    low.last_key = high.first_key = cut_of(r.first_key, r.last_key);
    return add(low) && add(high);
  }

  // Whether some of the queries look at all of the keys, as where blocks of a mask are smaller than
  // the queries are many: then the keys need not be cut further. Asked only about so many keys, and
  // if both ends are looked at, lest it be in vain.
  bool all_met(pair_range r) const {
    if constexpr (has_covers<Mask>) {
      index_t const keys = r.last_key - r.first_key;
      if (keys < 32 || keys > 64) return false;
      pair_range first = r, last = r;
      first.last_key = r.first_key + 1, last.first_key = r.last_key - 1;
      return meets_pairs(mask_, first) && meets_pairs(mask_, last) && some_cover(r);
    } else {
      return (void)r, false;
    }
  }
  bool some_cover(pair_range r) const {
    if (r.last_query - r.first_query <= 16) return false;
    pair_range low = r, high = r;
    low.last_query = high.first_query = cut_of(r.first_query, r.last_query);
    for (pair_range const& half : {low, high})
      if (meets_pairs(mask_, half) && (covers_pairs(mask_, half) || some_cover(half))) return true;
    return false;
  }

  Mask const& mask_;
  int most_, count_ = 0;
  index_t* to_;
  index_t next_ = 0;
};

SLICESORT_DETAIL_END
