// SPDX-License-Identifier: Apache-2.0
// The bias of attention. Callers pass it in one of four shapes; whatever lies behind the door reads
// it as a number for each pair, which strides of zero and of opposite signs make of all of them.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/detail/softmax_attention/check.hpp>
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {
namespace detail {

// Whether a bias depends on the distance from the query to the key alone: b[j - i + queries - 1].
// Of a single query it is a row of numbers either way.
constexpr bool is_relative(extents4 bias, index_t queries) {
  return bias.length == 1 && queries != 1;
}

// Its rules, beside inputs whose rows can be counted.
inline void check_bias(checker& c, attention_info const& in) {
  view_info like = in.q;  // with an extent of 1 where samples or heads share the bias
  if (in.bias.extents.outer == 1) like.extents.outer = 1;
  if (in.bias.extents.batch == 1) like.extents.batch = 1;
  if (!is_relative(in.bias.extents, in.q.extents.length))
    return check_rows(c, in.bias, like, in.q, in.k, in.k.axes.length);
  c.extent(in.bias, in.bias.axes.outer, in.bias.extents.outer, like.name, like.extents.outer);
  c.extent(in.bias, in.bias.axes.batch, in.bias.extents.batch, like.name, like.extents.batch);
  index_t const distances = in.q.extents.length + in.k.extents.length - 1;
  if (in.bias.extents.channels != distances)
    c.fail(error_kind::argument,
           "bias.keys is %lld, must be %lld (q.length + k.length - 1) where bias.queries is 1",
           static_cast<long long>(in.bias.extents.channels), static_cast<long long>(distances));
}

// The bias of a checked call as a view [batch, heads, queries, keys].
template <class T>
tensor4<T const> bias_of_pairs(attention_inputs<T> const& in) {
  if (in.bias.data() == nullptr) return in.bias;
  attention_shape const s = attention_shape::of(in);
  extents4 const e = in.bias.extents();
  strides4 d = in.bias.strides();
  T const* first = in.bias.data();
  if (e.outer == 1) d.outer = 0;
  if (e.batch == 1) d.batch = 0;
  if (is_relative(e, s.queries)) {
    first += (s.queries - (s.queries > 0 ? 1 : 0)) * d.channels;
    d.length = -d.channels;
  }
  return {first, {s.batch, s.heads, s.queries, s.keys}, d};
}

}  // namespace detail
}  // namespace v0
}  // namespace slicesort
