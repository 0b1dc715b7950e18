// SPDX-License-Identifier: Apache-2.0
// One head of a sample, as host tasks use it.
#pragma once

#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

struct attention_head {
  index_t pair, sample, head;
  index_t queries, keys;  // valid queries and keys
  index_t all_keys;

  attention_head(attention_lengths const& lengths, attention_sizes const& s, index_t index)
      : pair(index),
        sample(index / s.heads),
        head(index % s.heads),
        queries(valid_rows(lengths.queries, sample, s.queries)),
        keys(valid_rows(lengths.keys, sample, s.keys)),
        all_keys(s.keys) {}

  index_t longer() const { return std::max(queries, keys); }
  template <class T>
  T* at(tensor4<T> t, index_t row) const {
    return first_of(t, {sample, head}) + row * t.strides().length;
  }
};

SLICESORT_DETAIL_END
