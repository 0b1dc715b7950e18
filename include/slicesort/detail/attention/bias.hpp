// SPDX-License-Identifier: Apache-2.0
// Layouts of the attention bias and of its gradient: one element per (query, key) pair or per
// distance j - i, for each sample and head or shared between them.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// True if the bias depends only on the distance from query to key: b[j - i + queries - 1]. With a
// single query, both layouts are the same.
constexpr bool is_relative(extents4 bias, index_t queries) {
  return bias.length == 1 && queries != 1;
}
constexpr index_t distances_of(index_t queries, index_t keys) {
  return queries + keys > 0 ? queries + keys - 1 : 0;
}

// Views a checked bias as [batch, heads, queries, keys]. Broadcasts with zero strides, and reads a
// relative bias with strides of opposite signs, so that readers need only one layout.
template <class T>
tensor4<T const> pair_bias(attention_inputs<T> const& in) {
  if (in.bias.data() == nullptr) return in.bias;
  extents4 const q = in.q.extents(), bias_extents = in.bias.extents();
  strides4 bias_strides = in.bias.strides();
  T const* first = in.bias.data();
  if (bias_extents.batch == 1) bias_strides.batch = 0;
  if (bias_extents.heads == 1) bias_strides.heads = 0;
  if (is_relative(bias_extents, q.length)) {
    first += (q.length > 0 ? q.length - 1 : 0) * bias_strides.channels;
    bias_strides.length = -bias_strides.channels;
  }
  return {first, {q.batch, q.heads, q.length, in.k.extents().length}, bias_strides};
}

// Layout of the bias gradient.
enum class dbias_layout : unsigned char {
  per_pair,  // one element per pair, or no gradient
  relative,  // summed over queries, and over the samples or heads that share it
  shared     // one element per pair, summed over samples or heads
};
struct dbias_shape {
  dbias_layout layout = dbias_layout::per_pair;
  index_t batch = 0, heads = 0;  // extents of the gradient; 1 if shared

  static constexpr dbias_shape make(extents4 dbias, extents4 q) {
    dbias_shape shape{dbias_layout::per_pair, dbias.batch, dbias.heads};
    if (is_relative(dbias, q.length))
      shape.layout = dbias_layout::relative;
    else if ((dbias.batch == 1 && q.batch != 1) || (dbias.heads == 1 && q.heads != 1))
      shape.layout = dbias_layout::shared;
    return shape;
  }
  // A group consists of the heads that share one gradient: `count` indices sample * heads + head,
  // `step` apart, in the order of summation.
  SLICESORT_HD constexpr index_t groups() const { return batch * heads; }
  struct group {
    index_t first, step, count;
  };
  SLICESORT_HD constexpr group group_of(index_t group_index, index_t samples,
                                        index_t all_heads) const {
    bool const shares_samples = batch != samples, shares_heads = heads != all_heads;
    index_t const sample = shares_samples ? 0 : group_index / heads,
                  head = shares_heads ? 0 : group_index % heads;
    return {sample * all_heads + head, shares_heads ? 1 : all_heads,
            (shares_samples ? samples : 1) * (shares_heads ? all_heads : 1)};
  }
};

SLICESORT_DETAIL_END
