// SPDX-License-Identifier: Apache-2.0
// Sizes and lengths that every call of attention has, and the heads of its tensors.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

struct attention_sizes {
  index_t batch, heads, queries, keys;
  index_t channels, values;  // channels of q and k; of v and y

  attention_sizes() = default;
  SLICESORT_HD constexpr attention_sizes(extents4 q, extents4 v)
      : batch(q.batch),
        heads(q.heads),
        queries(q.length),
        keys(v.length),
        channels(q.channels),
        values(v.channels) {}

  // Heads of all samples.
  SLICESORT_HD constexpr index_t pairs() const { return batch * heads; }
  // True if no tensor of a call has an element, however many channels there are.
  constexpr bool empty() const { return batch == 0 || heads == 0 || (queries == 0 && keys == 0); }
};

struct attention_lengths {
  tensor1<index_t const> keys, queries;
};

// A head of a sample.
struct head_index {
  index_t sample, head;
};

// The first element of a head.
template <class T>
SLICESORT_HD T* first_of(tensor4<T> t, head_index at) {
  strides4 const s = t.strides();
  return t.data() + at.sample * s.batch + at.head * s.heads;
}

SLICESORT_DETAIL_END
