// SPDX-License-Identifier: Apache-2.0
// Compares masks with explicit patterns of visible pairs.
#pragma once

#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace support {

using slicesort::index_t;

// Table of visible (query, key) pairs. Prefix sums count the visible pairs of a rectangle.
class mask_pattern {
 public:
  template <class Definition>
  mask_pattern(index_t queries, index_t keys, Definition const& definition)
      : queries_(queries),
        keys_(keys),
        sums_(static_cast<std::size_t>((queries + 1) * (keys + 1))) {
    for (index_t i = 0; i < queries; ++i)
      for (index_t j = 0; j < keys; ++j)
        prefix_sum(i + 1, j + 1) = prefix_sum(i, j + 1) + prefix_sum(i + 1, j) - prefix_sum(i, j) +
                                   (definition(i, j) ? 1 : 0);
  }
  index_t queries() const { return queries_; }
  index_t keys() const { return keys_; }
  bool is_visible(index_t i, index_t j) const { return count_pairs({i, i + 1, j, j + 1}) == 1; }
  bool has_pair(slicesort::detail::pair_range r) const { return count_pairs(r) > 0; }
  bool has_all_pairs(slicesort::detail::pair_range r) const {
    return count_pairs(r) == (r.last_query - r.first_query) * (r.last_key - r.first_key);
  }
  std::vector<index_t> keys_of(index_t query) const {
    std::vector<index_t> found;
    for (index_t j = 0; j < keys_; ++j)
      if (is_visible(query, j)) found.push_back(j);
    return found;
  }

 private:
  index_t& prefix_sum(index_t i, index_t j) {
    return sums_[static_cast<std::size_t>(i * (keys_ + 1) + j)];
  }
  index_t at(index_t i, index_t j) const {
    return sums_[static_cast<std::size_t>(i * (keys_ + 1) + j)];
  }
  index_t count_pairs(slicesort::detail::pair_range r) const {
    return at(r.last_query, r.last_key) - at(r.first_query, r.last_key) -
           at(r.last_query, r.first_key) + at(r.first_query, r.first_key);
  }

  index_t queries_, keys_;
  std::vector<index_t> sums_;
};

// True if attention with the mask sees the pair: the key is within the range and allowed.
template <class Mask>
bool sees(Mask const& mask, index_t query, index_t key, index_t keys) {
  slicesort::key_range const r = slicesort::detail::clamped_key_range(mask, query, keys);
  return r.first <= key && key < r.last && slicesort::detail::allows_key(mask, query, key);
}
template <class Mask>
std::vector<index_t> keys_of(Mask const& mask, index_t query, index_t keys) {
  return mask_pattern(query + 1, keys, [&](index_t i, index_t j) { return sees(mask, i, j, keys); })
      .keys_of(query);
}

// Optional guarantees of a mask about tiles: `meets` implies a visible pair; tiles whose pairs are
// all visible are covered.
struct exactness {
  bool meets = true, covers = true;
};
inline constexpr exactness exact{};

// Describes the first pair or tile for which the mask differs from the pattern. Returns an empty
// string if there is none.
template <class Mask>
std::string describe_mismatch(Mask const& mask, mask_pattern const& expected,
                              exactness guaranteed) {
  using namespace slicesort::detail;
  auto const range = [](index_t first, index_t last) {
    return std::to_string(first) + ".." + std::to_string(last - 1);
  };
  std::string const suffix = " of " + std::to_string(expected.keys());
  for (index_t i = 0; i < expected.queries(); ++i)
    for (index_t j = 0; j < expected.keys(); ++j)
      if (sees(mask, i, j, expected.keys()) != expected.is_visible(i, j) ||
          is_visible_pair(mask, i, j) != expected.is_visible(i, j))
        return "query " + std::to_string(i) + ", key " + std::to_string(j) + suffix;
  for (index_t i = 0; i < expected.queries(); ++i)
    for (index_t i_end = i + 1; i_end <= expected.queries(); ++i_end)
      for (index_t j = 0; j < expected.keys(); ++j)
        for (index_t j_end = j + 1; j_end <= expected.keys(); ++j_end) {
          pair_range const r{i, i_end, j, j_end};
          bool const meets = meets_pairs(mask, r), covers = covers_pairs(mask, r);
          char const* error = nullptr;
          if (expected.has_pair(r) && !meets) error = "does not meet";
          if (guaranteed.meets && !expected.has_pair(r) && meets) error = "meets";
          if (covers && !expected.has_all_pairs(r)) error = "covers";
          if (guaranteed.covers && !covers && expected.has_all_pairs(r)) error = "does not cover";
          if (error != nullptr)
            return std::string(error) + " queries " + range(i, i_end) + ", keys " +
                   range(j, j_end) + suffix;
        }
  return "";
}

// Compares the mask with a definition, for several numbers of queries and keys.
template <class Mask, class Definition>
std::string describe_mismatch(Mask const& mask, Definition const& definition,
                              exactness guaranteed = exact) {
  for (index_t const queries : {1, 6, 13})
    for (index_t const keys : {1, 5, 13, 14}) {
      std::string const error =
          describe_mismatch(mask, mask_pattern(queries, keys, definition), guaranteed);
      if (!error.empty()) return error;
    }
  return "";
}

}  // namespace support
