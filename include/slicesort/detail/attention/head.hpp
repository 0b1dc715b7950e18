// SPDX-License-Identifier: Apache-2.0
// One head of a sample in a host task: its indices and valid rows.
#pragma once

#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

struct attention_head {
  index_t pair, sample, head;  // pair = sample * heads + head
  index_t heads, kv_head;      // heads of q; head of k and v that this head reads
  index_t queries, keys;       // valid queries and keys
  index_t all_keys;            // including padding

  attention_head(attention_lengths const& lengths, attention_sizes const& s, index_t pair_index)
      : pair(pair_index),
        sample(pair_index / s.heads),
        head(pair_index % s.heads),
        heads(s.heads),
        kv_head(head / s.group()),
        queries(valid_rows(lengths.queries, sample, s.queries)),
        keys(valid_rows(lengths.keys, sample, s.keys)),
        all_keys(s.keys) {}

  index_t max_length() const { return std::max(queries, keys); }
  // Row of this head in a tensor with the heads of q or of k.
  template <class T>
  T* at(tensor4<T> t, index_t row) const {
    index_t const tensor_head = t.extents().heads == heads ? head : kv_head;
    return head_data(t, {sample, tensor_head}) + row * t.strides().length;
  }
};

// Calls f(sample * heads + head, is_first, is_last) for the query heads that share a head of k and
// v, in order.
template <class F>
void for_each_head_of_kv(attention_sizes const& sizes, index_t kv_pair, F const& f) {
  index_t const group = sizes.group();
  for (index_t i = 0; i < group; ++i) f(kv_pair * group + i, i == 0, i == group - 1);
}

SLICESORT_DETAIL_END
