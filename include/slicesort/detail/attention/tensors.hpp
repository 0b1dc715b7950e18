// SPDX-License-Identifier: Apache-2.0
// Sizes, lengths, head indices and saved row statistics of attention.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

struct attention_sizes {
  index_t batch, heads, queries, keys;
  index_t channels, values;  // channels of q and k; channels of v and y
  index_t kv_heads;          // heads of k and v; divides `heads`, the heads of q

  attention_sizes() = default;
  SLICESORT_HD constexpr attention_sizes(extents4 q, extents4 v)
      : batch(q.batch),
        heads(q.heads),
        queries(q.length),
        keys(v.length),
        channels(q.channels),
        values(v.channels),
        kv_heads(v.heads) {}

  // Number of (sample, head) pairs, and of those of k and v.
  SLICESORT_HD constexpr index_t pairs() const { return batch * heads; }
  SLICESORT_HD constexpr index_t kv_pairs() const { return batch * kv_heads; }
  // Number of consecutive query heads that share a head of k and v.
  SLICESORT_HD constexpr index_t group() const { return heads == kv_heads ? 1 : heads / kv_heads; }
  // True if the tensors are empty for any number of channels.
  constexpr bool empty() const { return batch == 0 || heads == 0 || (queries == 0 && keys == 0); }
};

struct attention_lengths {
  tensor1<index_t const> keys, queries;
};

struct head_index {
  index_t sample, head;
};

// Head of k and v that a query head reads.
SLICESORT_HD_INLINE head_index kv_head_of(head_index head, index_t heads, index_t kv_heads) {
  if (heads != kv_heads) head.head /= heads / kv_heads;
  return head;
}

// Address of the first element of a head.
template <class T>
SLICESORT_HD T* head_data(tensor4<T> t, head_index head) {
  strides4 const s = t.strides();
  return t.data() + head.sample * s.batch + head.head * s.heads;
}

// Softmax statistics of a query: maximum score, and sum of exponentials relative to it.
template <class A>
struct row_statistics {
  A max, sum;
};
template <class A>
SLICESORT_HD_INLINE row_statistics<A> load_statistics(tensor4<A const> const& state,
                                                      head_index head, index_t row) {
  return {state(head.sample, head.head, row, 0), state(head.sample, head.head, row, 1)};
}
template <class A>
SLICESORT_HD_INLINE void save_statistics(tensor4<A> const& state, head_index head, index_t row,
                                         row_statistics<A> const& stats) {
  state(head.sample, head.head, row, 0) = stats.max;
  state(head.sample, head.head, row, 1) = stats.sum;
}

SLICESORT_DETAIL_END
