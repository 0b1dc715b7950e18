// SPDX-License-Identifier: Apache-2.0
// Means of segments of rows, [batch, heads, length, channels] -> [batch, heads, count, channels],
// as attention without scores under a mask.
#pragma once

#include "attend.hpp"
#include "support.hpp"

#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

// Query t sees the keys of segment t of `count`. With fewer keys, each key is a segment, and the
// other queries see none, so that their means are zeros.
struct segments {
  index_t count;

  RECIPES_HD ss::key_range range(index_t t, index_t keys) const {
    if (keys < count) return {t, t + 1};  // clamped to the keys
    return {t * keys / count, (t + 1) * keys / count};
  }
};

template <class T, class Exec>
attention_step<T, segments> segment_means(Exec const& exec, memory<Exec>& memory,
                                          tensor4<T const> x, index_t count,
                                          ss::row_lengths lengths) {
  extents4 const e = x.extents();
  tensor4<T const> const q(nullptr, {e.batch, e.heads, count, 0}),
      k(nullptr, {e.batch, e.heads, e.length, 0});
  return attend<T>(exec, memory, ss::softmax_attention(segments{count}), {q, k, x}, lengths);
}

struct count_segments {
  ss::row_lengths rows;
  index_t length, count;
  ss::tensor4<index_t> counts;

  RECIPES_HD void operator()(index_t b) const {
    index_t const n = rows.lengths.data() == nullptr ? length : rows.lengths(b);
    counts(0, 0, 0, b) = n < count ? n : count;
  }
};
// Returns the number of segments of each sample, the smaller of `count` and its length.
template <class Exec>
ss::tensor1<index_t const> segment_counts(Exec const& exec, memory<Exec>& memory, extents4 x,
                                          index_t count, ss::row_lengths lengths) {
  auto const counts = memory.template tensor<index_t>({1, 1, 1, x.batch});
  for_each_index(exec, x.batch, count_segments{lengths, x.length, count, counts});
  return {counts.data(), x.batch};
}

}  // namespace recipes
