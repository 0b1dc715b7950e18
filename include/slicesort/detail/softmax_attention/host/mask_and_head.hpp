// SPDX-License-Identifier: Apache-2.0
// What the tasks of an attention call share on the host. Some functions stand for the mask, so that
// the rest is compiled once for each element type.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/softmax_attention/dropout.hpp>
#include <slicesort/detail/softmax_attention/host/sparse_mask.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Queries [query, query + queries) of a head against keys [key, key + keys).
struct attention_pairs {
  index_t query;
  int queries;
  index_t key;
  int keys;

  pair_range range() const { return {query, query + queries, key, key + keys}; }
};

// A mask, evaluated for many pairs at once.
struct attention_mask {
  void const* self;
  // Writes the key ranges of queries query, query + 1, ..
  void (*range)(void const* self, attention_head const&, index_t query, int queries, key_range* to);
  // Bit i of to[j]: whether query + i may look at key + j. Null: yes, wherever its range is; sparse
  // masks have looked at the range.
  void (*allowed)(void const* self, attention_head const&, attention_pairs, std::uint64_t* to);
  // Null: the mask is not sparse. Writes the first keys of a range that any of the queries looks at
  // to `to`, in order, `most` at the most; returns how many, and moves the range's first behind
  // what it has searched.
  int (*find_keys)(void const* self, attention_head const&, pair_range& left, int most,
                   index_t* to);

  bool sparse() const { return find_keys != nullptr; }

  template <class Mask>
  static attention_mask of(Mask const& mask) {
    static_assert(attention_queries <= 64);
    using own = head_mask_t<Mask>;
    attention_mask m{&mask, nullptr, nullptr, nullptr};
    m.range = [](void const* which, attention_head const& head, index_t query, int queries,
                 key_range* to) {
      auto const& one = of_head<Mask>(which, head);
      for (int i = 0; i < queries; ++i) to[i] = range_of_keys(one, query + i, head.keys);
    };
    if constexpr (is_sparse<Mask>) {
      m.allowed = [](void const* which, attention_head const& head, attention_pairs at,
                     std::uint64_t* to) {
        auto const& one = of_head<Mask>(which, head);
        if constexpr (has_query_bits<own>) {
          std::uint64_t const queries = ~bits_from(at.queries);
          for (int j = 0; j < at.keys; ++j) to[j] = one.query_bits(at.query, at.key + j) & queries;
        } else {
          std::fill_n(to, at.keys, std::uint64_t{0});
          sparse_pairs<own>(one, head.keys, at, to).add(at.range());
        }
      };
      m.find_keys = [](void const* which, attention_head const& head, pair_range& left, int most,
                       index_t* to) {
        return sparse_keys<own>(of_head<Mask>(which, head), most, to).find(left);
      };
    } else if constexpr (has_allows<own>) {
      m.allowed = [](void const* which, attention_head const& head, attention_pairs at,
                     std::uint64_t* to) {
        auto const& one = of_head<Mask>(which, head);
        for (int j = 0; j < at.keys; ++j) {
          std::uint64_t bits = 0;
          for (int i = 0; i < at.queries; ++i)
            bits |= std::uint64_t{allows_key(one, at.query + i, at.key + j)} << i;
          to[j] = bits;
        }
      };
    }
    return m;
  }

 private:
  template <class Mask>
  static decltype(auto) of_head(void const* self, attention_head const& head) {
    if constexpr (has_for_head<Mask>)
      return static_cast<Mask const*>(self)->for_head(head.head);
    else
      return (void)head, *static_cast<Mask const*>(self);
  }
};

// The parameters of a call other than its tensors.
struct attention_config {
  attention_mask mask;
  double scale;
  gemm_callback gemm;
  products multiply;
  attention_lengths lengths;
  dropout_config drop;

  template <class Params>
  static attention_config of(Params const& p) {
    attention_config r;
    r.mask = attention_mask::of(p.mask);
    r.scale = p.scale;
    r.gemm = p.gemm;
    r.multiply = p.multiply;
    r.lengths = p.lengths;
    r.drop = dropout_config::of(p.drop, p.in.q.extents().heads);
    return r;
  }
};

// What `use.find_kept` is asked about some keys and the tile of queries from `query` on.
inline kept_weights_call kept_weights_of(attention_config const& config, attention_head const& head,
                                         index_t query, index_t key, index_t const* keys, int rows,
                                         std::uint64_t* to) {
  auto const all = static_cast<std::uint64_t>(head.all_keys),
             first = static_cast<std::uint64_t>(query) * all + 1;
  kept_weights_call call{};
  call.to = to, call.least = config.drop.least;
  call.keys = keys, call.key = key, call.rows = rows;
  call.mixed = {config.drop.seed_of(head.sample, head.head) + counter_step * first,
                counter_step * all};
  return call;
}

// Which keys a tile's queries look at.
struct attention_ranges {
  key_range of[attention_queries];
  key_range any, all;  // the hull of the ranges, and their intersection

  // Unused lanes get the full key range, so they never stop a tile from counting as unmasked.
  void evaluate(attention_mask const& mask, attention_head const& head, index_t query,
                int queries) {
    index_t const keys = head.keys;
    mask.range(mask.self, head, query, queries, of);
    for (int i = queries; i < attention_queries; ++i) of[i] = {0, keys};
    any = {keys, 0}, all = {0, keys};
    for (int i = 0; i < queries; ++i) {
      all.first = std::max(all.first, of[i].first), all.last = std::min(all.last, of[i].last);
      if (of[i].first == of[i].last) continue;
      any.first = std::min(any.first, of[i].first), any.last = std::max(any.last, of[i].last);
    }
  }
  // The keys of [first, last) that any lane looks at, in whole blocks of rows counted from `first`.
  key_range within(index_t first, index_t last) const {
    index_t const begin = std::max(first, any.first), end = std::min(last, any.last);
    if (begin >= end) return {first, first};
    return {first + (begin - first) / product_rows * product_rows,
            std::min(last, first + padded_rows(end - first))};
  }
  bool covers(index_t first, index_t last) const { return all.first <= first && last <= all.last; }
};

SLICESORT_DETAIL_END
