// SPDX-License-Identifier: Apache-2.0
// Mask and parameters of a call for host tasks. The mask is type-erased, so tasks are compiled once
// per element type.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/dropout.hpp>
#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/attention/host/sparse_mask.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Queries [query, query + queries) and keys [key, key + keys) of a head.
struct attention_pairs {
  index_t query;
  int queries;
  index_t key;
  int keys;

  pair_range range() const { return {query, query + queries, key, key + keys}; }
};

// Type-erased mask. Each function evaluates many pairs at once.
struct attention_mask {
  void const* mask;
  // Writes the key ranges of `queries` queries from `query` on.
  void (*key_ranges)(void const* erased_mask, attention_head const&, index_t query, int queries,
                     key_range* ranges);
  // Sets bit i of bits[j] if query + i may see key + j. Null if the key ranges alone decide. Sparse
  // masks already apply the ranges here; other masks do not.
  void (*allowed_bits)(void const* erased_mask, attention_head const&, attention_pairs,
                       std::uint64_t* bits);
  // Writes, in ascending order, up to `max_keys` keys that are visible to any of the queries.
  // Returns their count and advances remaining.first_key past the searched keys. Null if the mask
  // is not sparse.
  int (*find_keys)(void const* erased_mask, attention_head const&, pair_range& remaining,
                   int max_keys, index_t* keys);

  // True for sparse masks, whose visible keys are gathered into tiles.
  bool gathers_keys() const { return find_keys != nullptr; }

  template <class Mask>
  static attention_mask make(Mask const& mask) {
    static_assert(tile_queries <= 64);
    using HeadMask = head_mask_t<Mask>;
    attention_mask m{&mask, nullptr, nullptr, nullptr};
    m.key_ranges = [](void const* erased_mask, attention_head const& head, index_t query,
                      int queries, key_range* ranges) {
      auto const& head_mask = mask_of<Mask>(erased_mask, head);
      for (int i = 0; i < queries; ++i)
        ranges[i] = clamped_key_range(head_mask, query + i, head.keys);
    };
    if constexpr (is_sparse<Mask>) {
      m.allowed_bits = [](void const* erased_mask, attention_head const& head,
                          attention_pairs pairs, std::uint64_t* bits) {
        auto const& head_mask = mask_of<Mask>(erased_mask, head);
        if constexpr (has_query_bits<HeadMask>) {
          std::uint64_t const valid_bits = ~bits_from(pairs.queries);
          if (covers_pairs(head_mask, pairs.range()))
            return (void)std::fill_n(bits, pairs.keys, valid_bits);
          for (int j = 0; j < pairs.keys; ++j)
            bits[j] = head_mask.query_bits(pairs.query, pairs.key + j) & valid_bits;
        } else {
          std::fill_n(bits, pairs.keys, std::uint64_t{0});
          sparse_pair_finder<HeadMask>(head_mask, head.keys, pairs, bits).add_range(pairs.range());
        }
      };
      m.find_keys = [](void const* erased_mask, attention_head const& head, pair_range& remaining,
                       int max_keys, index_t* keys) {
        return sparse_key_finder<HeadMask>(mask_of<Mask>(erased_mask, head), max_keys, keys)
            .find(remaining);
      };
    } else if constexpr (has_allows<HeadMask>) {
      m.allowed_bits = [](void const* erased_mask, attention_head const& head,
                          attention_pairs pairs, std::uint64_t* bits) {
        auto const& head_mask = mask_of<Mask>(erased_mask, head);
        for (int j = 0; j < pairs.keys; ++j) {
          std::uint64_t query_bits = 0;
          for (int i = 0; i < pairs.queries; ++i)
            query_bits |= std::uint64_t{allows_key(head_mask, pairs.query + i, pairs.key + j)} << i;
          bits[j] = query_bits;
        }
      };
    }
    return m;
  }

 private:
  template <class Mask>
  static decltype(auto) mask_of(void const* erased_mask, attention_head const& head) {
    if constexpr (has_for_head<Mask>)
      return mask_of_head(*static_cast<Mask const*>(erased_mask), head.sample, head.head);
    else
      return (void)head, *static_cast<Mask const*>(erased_mask);
  }
};

// Parameters of a call other than its tensors.
struct attention_config {
  attention_mask mask;
  score_weights weights;
  double scale;
  bool scale_per_key = false;  // true if the scale is 1 / (number of valid keys)
  gemm_callback gemm;
  products product_kind;
  attention_lengths lengths;
  dropout_config dropout;

  // Scale of the scores of a head, in type A.
  template <class A>
  A scale_of(attention_head const& head) const {
    if (!scale_per_key) return static_cast<A>(scale);
    return head.keys > 0 ? A(1) / static_cast<A>(head.keys) : A(0);
  }

  template <class Params>
  static attention_config make(Params const& params) {
    attention_config config;
    config.mask = attention_mask::make(params.mask);
    config.scale = params.scale;
    config.gemm = params.gemm;
    config.product_kind = params.multiply;
    config.lengths = params.lengths;
    config.dropout = dropout_config::make(params.drop, params.in.q.extents().heads);
    return config;
  }
};

// Arguments of `compute_keep_mask` for a block of keys and the query tile that begins at `query`.
inline keep_mask_params make_keep_mask_params(attention_config const& config,
                                              attention_head const& head, index_t query,
                                              index_t key, index_t const* keys, int rows,
                                              std::uint64_t* bits) {
  auto const keys_per_head = static_cast<std::uint64_t>(head.all_keys),
             first = static_cast<std::uint64_t>(query) * keys_per_head + 1;
  keep_mask_params keep_params{};
  keep_params.keep = bits, keep_params.threshold = config.dropout.threshold;
  keep_params.keys = keys, keep_params.key = key, keep_params.rows = rows;
  keep_params.counter = {config.dropout.seed_of(head.sample, head.head) + counter_step * first,
                         counter_step * keys_per_head};
  return keep_params;
}

// Key ranges of the queries in a tile.
struct attention_ranges {
  key_range query_ranges[tile_queries];
  key_range hull, common;  // union (without gaps) and intersection of the ranges

  // Gives unused lanes the full range, so that a partial tile can still be unmasked.
  void evaluate(attention_mask const& mask, attention_head const& head, index_t query,
                int queries) {
    index_t const keys = head.keys;
    mask.key_ranges(mask.mask, head, query, queries, query_ranges);
    for (int i = queries; i < tile_queries; ++i) query_ranges[i] = {0, keys};
    hull = {keys, 0}, common = {0, keys};
    for (int i = 0; i < queries; ++i) {
      common.first = std::max(common.first, query_ranges[i].first),
      common.last = std::min(common.last, query_ranges[i].last);
      if (query_ranges[i].first == query_ranges[i].last) continue;
      hull.first = std::min(hull.first, query_ranges[i].first),
      hull.last = std::max(hull.last, query_ranges[i].last);
    }
  }
  // Visible keys in [first, last), rounded outwards to multiples of product_rows from `first`.
  key_range visible_keys(index_t first, index_t last) const {
    index_t const begin = std::max(first, hull.first), end = std::min(last, hull.last);
    if (begin >= end) return {first, first};
    return {first + (begin - first) / product_rows * product_rows,
            std::min(last, first + padded_rows(end - first))};
  }
  bool covers(index_t first, index_t last) const {
    return common.first <= first && last <= common.last;
  }
};

SLICESORT_DETAIL_END
