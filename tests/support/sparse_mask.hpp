// SPDX-License-Identifier: Apache-2.0
// Sparse masks selected at run time, so that attention is compiled once for all: blocks selected by
// a hash, or stripes of single keys, optionally per head and causal. `meets` and `covers` are
// exact, or as conservative as the protocol allows.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <string>

namespace support {

enum class sparse_kind { blocks, stripes };

struct sparse_mask {
  using index_t = slicesort::index_t;

  sparse_kind kind = sparse_kind::blocks;
  index_t size = 1;
  // blocks: about one in `number` blocks is visible. stripes: the last `number` keys of each stripe
  // are visible to all queries.
  index_t number = 4;
  bool by_head = false, causal = false, lazy_meets = false, lazy_covers = false;
  index_t head = 0;

  SLICESORT_HD sparse_mask for_head(index_t h) const {
    sparse_mask mask = *this;
    if (by_head) mask.head = h;
    return mask;
  }
  SLICESORT_HD slicesort::key_range range(index_t query, index_t keys) const {
    return {0, causal ? query + 1 + ahead() : keys};
  }
  SLICESORT_HD bool allows(index_t query, index_t key) const {
    return kind == sparse_kind::blocks ? is_visible_block(query / size, key / size)
                                       : is_visible_in_stripe(query, key);
  }
  SLICESORT_HD bool meets(index_t q, index_t q_end, index_t k, index_t k_end) const {
    if (lazy_meets) return true;
    if (causal && k >= q_end + ahead()) return false;
    if (kind == sparse_kind::stripes) {
      if (q / size <= (k_end - 1) / size && k / size <= (q_end - 1) / size) return true;
      for (; k < k_end; ++k)
        if (is_stripe_end(k)) return true;
      return false;
    }
    for (index_t i = q / size; i <= (q_end - 1) / size; ++i)
      for (index_t j = k / size; j <= (k_end - 1) / size; ++j)
        if (is_visible_block(i, j)) return true;
    return false;
  }
  SLICESORT_HD bool covers(index_t q, index_t q_end, index_t k, index_t k_end) const {
    if (lazy_covers || (causal && k_end - 1 > q + ahead())) return false;
    if (kind == sparse_kind::stripes) {
      bool const is_one_stripe = q / size == (q_end - 1) / size;
      for (; k < k_end; ++k)
        if (!is_stripe_end(k) && !(is_one_stripe && k / size == q / size)) return false;
      return true;
    }
    for (index_t i = q / size; i <= (q_end - 1) / size; ++i)
      for (index_t j = k / size; j <= (k_end - 1) / size; ++j)
        if (!is_visible_block(i, j)) return false;
    return true;
  }

  std::string describe() const {
    return std::string(kind == sparse_kind::blocks ? "blocks{" : "stripes{") +
           std::to_string(size) + "," + std::to_string(number) + "}" + (by_head ? " by head" : "") +
           (causal ? " causal" : "") + (lazy_meets ? " lazy meets" : "") +
           (lazy_covers ? " lazy covers" : "");
  }

  // Number of keys after its own that a query may see if the mask is causal.
  SLICESORT_HD index_t ahead() const { return 7 * head; }

 private:
  SLICESORT_HD bool is_visible_block(index_t i, index_t j) const {
    auto const hash =
        static_cast<std::uint64_t>((head * 1009 + i) * 4099 + j + 1) * 0x9e3779b97f4a7c15u;
    return static_cast<index_t>(hash >> 40) % number == 0;
  }
  SLICESORT_HD bool is_stripe_end(index_t key) const {
    return (key + head) % size >= size - number;
  }
  SLICESORT_HD bool is_visible_in_stripe(index_t query, index_t key) const {
    return query / size == key / size || is_stripe_end(key);
  }
};

}  // namespace support
