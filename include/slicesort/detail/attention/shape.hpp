// SPDX-License-Identifier: Apache-2.0
// Arguments of the workspace size of attention with scores per pair.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/bias.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

struct attention_shape : attention_sizes {
  dbias_shape dbias{};

  attention_shape() = default;
  SLICESORT_HD constexpr attention_shape(extents4 q, extents4 v) : attention_sizes(q, v) {}
  template <class T>
  SLICESORT_HD constexpr explicit attention_shape(attention_inputs<T> const& in)
      : attention_shape(in.q.extents(), in.v.extents()) {}
  constexpr attention_shape(extents4 q, extents4 v, extents4 dbias_extents)
      : attention_sizes(q, v), dbias(dbias_shape::make(dbias_extents, q)) {}

  constexpr index_t distances() const { return distances_of(queries, keys); }
};

SLICESORT_DETAIL_END
