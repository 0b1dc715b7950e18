// SPDX-License-Identifier: Apache-2.0
// Finds the visible pairs and keys of a sparse mask by recursive bisection. Only partly visible
// ranges are split, so the cost is proportional to the outline of the pattern.
#pragma once

#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Split point of a range of at least two indices: its multiple of the largest power of two, which
// is where mask blocks begin.
constexpr index_t split_point(index_t first, index_t last) {
  index_t cut = last - 1;
  while ((cut & (cut - 1)) > first) cut &= cut - 1;
  return cut;
}

// Sets bit i of bits[j] if query + i sees key + j.
template <class Mask>
class sparse_pair_finder {
 public:
  template <class Pairs>
  sparse_pair_finder(Mask const& mask, index_t keys, Pairs const& tile, std::uint64_t* bits)
      : mask_(mask), keys_(keys), query_(tile.query), key_(tile.key), bits_(bits) {}

  void add_range(pair_range r) const {
    if (covers_pairs(mask_, r)) return set_bits(r);
    if (!meets_pairs(mask_, r)) return;
    index_t const queries = r.last_query - r.first_query, keys = r.last_key - r.first_key;
    if (queries * keys <= max_pairs_tested) return test_each(r);
    pair_range low = r, high = r;
    if (keys == 1 || (queries > 1 && is_uniform(r)))
      low.last_query = high.first_query = split_point(r.first_query, r.last_query);
    else
      low.last_key = high.first_key = split_point(r.first_key, r.last_key);
    add_range(low);
    add_range(high);
  }

 private:
  // Ranges of up to this many pairs are tested pair by pair.
  static constexpr index_t max_pairs_tested = 16;

  // True if the first query sees all keys or none; then splitting by queries separates the pairs.
  bool is_uniform(pair_range r) const {
    r.last_query = r.first_query + 1;
    return !meets_pairs(mask_, r) || covers_pairs(mask_, r);
  }

  void set_bits(pair_range r) const {
    std::uint64_t const query_bits = (std::uint64_t{1} << (r.last_query - r.first_query)) - 1;
    for (index_t j = r.first_key; j < r.last_key; ++j)
      bits_[j - key_] |= query_bits << (r.first_query - query_);
  }
  void test_each(pair_range r) const {
    for (index_t i = r.first_query; i < r.last_query; ++i) {
      key_range const range = clamped_key_range(mask_, i, keys_);
      for (index_t j = r.first_key; j < r.last_key; ++j)
        if (range.first <= j && j < range.last && mask_.allows(i, j))
          bits_[j - key_] |= std::uint64_t{1} << (i - query_);
    }
  }

  Mask const& mask_;
  index_t keys_, query_, key_;
  std::uint64_t* bits_;
};

// Finds the keys that are visible to any query of a range.
template <class Mask>
class sparse_key_finder {
 public:
  sparse_key_finder(Mask const& mask, int max_keys, index_t* keys)
      : mask_(mask), max_keys_(max_keys), keys_(keys) {}

  // Returns the number of keys and advances `unsearched` past the searched keys.
  int find(pair_range& unsearched) {
    next_ = unsearched.last_key;
    if (unsearched.first_key < unsearched.last_key) (void)add_range(unsearched);
    unsearched.first_key = next_;
    return count_;
  }

 private:
  // Returns false if there is no room for more keys.
  bool add_range(pair_range r) {
    if (count_ == max_keys_) return next_ = r.first_key, false;
    if (!meets_pairs(mask_, r)) return true;
    if (r.last_key - r.first_key == 1 || covers_pairs(mask_, r) || is_covered_by_some_queries(r)) {
      for (; r.first_key < r.last_key; ++r.first_key) {
        if (count_ == max_keys_) return next_ = r.first_key, false;
        keys_[count_++] = r.first_key;
      }
      return true;
    }
    pair_range low = r, high = r;
    low.last_key = high.first_key = split_point(r.first_key, r.last_key);
    return add_range(low) && add_range(high);
  }

  // True if a subset of the queries sees all keys, as with mask blocks smaller than the query
  // range; the keys need no further split. Tests only ranges of 32 to 64 keys whose first and last
  // key are visible, where success is likely.
  bool is_covered_by_some_queries(pair_range r) const {
    if constexpr (has_covers<Mask>) {
      index_t const keys = r.last_key - r.first_key;
      if (keys < 32 || keys > 64) return false;
      pair_range first = r, last = r;
      first.last_key = r.first_key + 1, last.first_key = r.last_key - 1;
      return meets_pairs(mask_, first) && meets_pairs(mask_, last) && any_query_covers(r);
    } else {
      return (void)r, false;
    }
  }
  bool any_query_covers(pair_range r) const {
    if (r.last_query - r.first_query <= 16) return false;
    pair_range low = r, high = r;
    low.last_query = high.first_query = split_point(r.first_query, r.last_query);
    for (pair_range const& half : {low, high})
      if (meets_pairs(mask_, half) && (covers_pairs(mask_, half) || any_query_covers(half)))
        return true;
    return false;
  }

  Mask const& mask_;
  int max_keys_, count_ = 0;
  index_t* keys_;
  index_t next_ = 0;
};

SLICESORT_DETAIL_END
