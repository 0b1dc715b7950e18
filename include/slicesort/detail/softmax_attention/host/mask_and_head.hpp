// SPDX-License-Identifier: Apache-2.0
// What the tasks of an attention call share on the host. Two functions stand for the mask, so that
// the rest is compiled once for each element type.
#pragma once

#include <slicesort/attention_algorithm.hpp>
#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/host/column_run.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// A mask, evaluated for many pairs at once.
struct attention_mask {
  void const* self;
  // Writes the key ranges of queries query, query + 1, .., for a head of `keys` keys.
  void (*range)(void const* self, index_t query, int queries, index_t keys, key_range* to);
  // Bit i of to[j]: whether query + i may look at key + j. Null: yes, wherever its range is.
  void (*allowed)(void const* self, index_t query, int queries, index_t key, int keys,
                  std::uint64_t* to);

  template <class Mask>
  static attention_mask of(Mask const& mask) {
    static_assert(attention_queries <= 64);
    attention_mask m{&mask, nullptr, nullptr};
    m.range = [](void const* which, index_t query, int queries, index_t keys, key_range* to) {
      for (int i = 0; i < queries; ++i)
        to[i] = detail::range_of_keys(*static_cast<Mask const*>(which), query + i, keys);
    };
    if constexpr (detail::has_allows<Mask>)
      m.allowed = [](void const* which, index_t query, int queries, index_t key, int keys,
                     std::uint64_t* to) {
        for (int j = 0; j < keys; ++j) {
          std::uint64_t bits = 0;
          for (int i = 0; i < queries; ++i)
            bits |= std::uint64_t{detail::allows_key(*static_cast<Mask const*>(which), query + i,
                                                     key + j)}
                    << i;
          to[j] = bits;
        }
      };
    return m;
  }
};

// The parameters of a call other than its tensors.
struct attention_rule {
  attention_mask mask;
  double scale;
  detail::gemm_rule gemm;
  products multiply;
  detail::attention_lengths lengths;

  template <class Problem>
  static attention_rule of(Problem const& p) {
    return {attention_mask::of(p.mask), p.scale, p.gemm, p.multiply, p.lengths};
  }
};

// One head of one sample, with its valid rows.
struct attention_head {
  index_t batch, head;
  index_t queries, keys;  // the valid ones

  attention_head(attention_rule const& rule, detail::attention_shape s, index_t pair)
      : batch(pair / s.heads),
        head(pair % s.heads),
        queries(valid_rows(rule.lengths.queries, batch, s.queries)),
        keys(valid_rows(rule.lengths.keys, batch, s.keys)) {}

  // The first element of row `row`.
  template <class T>
  T* at(tensor4<T> t, index_t row) const {
    strides4 const s = t.strides();
    return t.data() + batch * s.outer + head * s.batch + row * s.length;
  }
};

// Which keys a tile's queries look at.
struct attention_ranges {
  key_range of[attention_queries];
  key_range any, all;  // the hull of the ranges, and their intersection

  // Unused lanes get the full key range, so they never stop a tile from counting as unmasked.
  void evaluate(attention_mask const& mask, index_t query, int queries, index_t keys) {
    mask.range(mask.self, query, queries, keys, of);
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

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
