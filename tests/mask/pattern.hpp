// SPDX-License-Identifier: Apache-2.0
// Masks against the pairs that they shall let through, one by one.
#pragma once

#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace support {

using slicesort::index_t;

// Which of `keys` keys each of `queries` queries looks at, and how many pairs do in any range.
class mask_pattern {
 public:
  template <class Definition>
  mask_pattern(index_t queries, index_t keys, Definition const& definition)
      : queries_(queries),
        keys_(keys),
        sums_(static_cast<std::size_t>((queries + 1) * (keys + 1))) {
    for (index_t i = 0; i < queries; ++i)
      for (index_t j = 0; j < keys; ++j)
        sum(i + 1, j + 1) = sum(i, j + 1) + sum(i + 1, j) - sum(i, j) + (definition(i, j) ? 1 : 0);
  }
  index_t queries() const { return queries_; }
  index_t keys() const { return keys_; }
  bool looks(index_t i, index_t j) const { return pairs({i, i + 1, j, j + 1}) == 1; }
  bool any(slicesort::detail::pair_range r) const { return pairs(r) > 0; }
  bool all(slicesort::detail::pair_range r) const {
    return pairs(r) == (r.last_query - r.first_query) * (r.last_key - r.first_key);
  }
  std::vector<index_t> keys_of(index_t query) const {
    std::vector<index_t> found;
    for (index_t j = 0; j < keys_; ++j)
      if (looks(query, j)) found.push_back(j);
    return found;
  }

 private:
  index_t& sum(index_t i, index_t j) {
    return sums_[static_cast<std::size_t>(i * (keys_ + 1) + j)];
  }
  index_t at(index_t i, index_t j) const {
    return sums_[static_cast<std::size_t>(i * (keys_ + 1) + j)];
  }
  index_t pairs(slicesort::detail::pair_range r) const {
    return at(r.last_query, r.last_key) - at(r.first_query, r.last_key) -
           at(r.last_query, r.first_key) + at(r.first_query, r.first_key);
  }

  index_t queries_, keys_;
  std::vector<index_t> sums_;
};

// What attention makes of a mask: its range, and in it the keys that it allows.
template <class Mask>
bool mask_looks(Mask const& mask, index_t query, index_t key, index_t keys) {
  slicesort::key_range const r = slicesort::detail::range_of_keys(mask, query, keys);
  return r.first <= key && key < r.last && slicesort::detail::allows_key(mask, query, key);
}
template <class Mask>
std::vector<index_t> keys_of(Mask const& mask, index_t query, index_t keys) {
  return mask_pattern(query + 1, keys,
                      [&](index_t i, index_t j) { return mask_looks(mask, i, j, keys); })
      .keys_of(query);
}

// What a mask promises of its tiles, beyond what is always so: that a tile which meets has a pair,
// and that a tile which has all pairs is covered.
struct exactness {
  bool meets = true, covers = true;
};
inline constexpr exactness exact{};

// The first pair or tile about which the mask is wrong; empty if it is right about all of them.
template <class Mask>
std::string wrong_about(Mask const& mask, mask_pattern const& want, exactness promised) {
  using namespace slicesort::detail;
  auto const range = [](index_t first, index_t last) {
    return std::to_string(first) + ".." + std::to_string(last - 1);
  };
  std::string const of = " of " + std::to_string(want.keys());
  for (index_t i = 0; i < want.queries(); ++i)
    for (index_t j = 0; j < want.keys(); ++j)
      if (mask_looks(mask, i, j, want.keys()) != want.looks(i, j) ||
          looks_at(mask, i, j) != want.looks(i, j))
        return "query " + std::to_string(i) + ", key " + std::to_string(j) + of;
  for (index_t i = 0; i < want.queries(); ++i)
    for (index_t i_end = i + 1; i_end <= want.queries(); ++i_end)
      for (index_t j = 0; j < want.keys(); ++j)
        for (index_t j_end = j + 1; j_end <= want.keys(); ++j_end) {
          pair_range const r{i, i_end, j, j_end};
          bool const meets = meets_pairs(mask, r), covers = covers_pairs(mask, r);
          char const* what = nullptr;
          if (want.any(r) && !meets) what = "does not meet";
          if (promised.meets && !want.any(r) && meets) what = "meets";
          if (covers && !want.all(r)) what = "covers";
          if (promised.covers && !covers && want.all(r)) what = "does not cover";
          if (what != nullptr)
            return std::string(what) + " queries " + range(i, i_end) + ", keys " + range(j, j_end) +
                   of;
        }
  return "";
}

// For some numbers of queries and keys.
template <class Mask, class Definition>
std::string wrong_about(Mask const& mask, Definition const& definition,
                        exactness promised = exact) {
  for (index_t const queries : {1, 6, 13})
    for (index_t const keys : {1, 5, 13, 14}) {
      std::string const what = wrong_about(mask, mask_pattern(queries, keys, definition), promised);
      if (!what.empty()) return what;
    }
  return "";
}

}  // namespace support
