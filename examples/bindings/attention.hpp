// SPDX-License-Identifier: Apache-2.0
// Tensors and masks of attention with run-time types.
#pragma once

#include "policies/named_mask.hpp"

#include <slicesort/attention_tensors.hpp>

#include <string>

namespace bindings {

/// Inputs or gradients of attention; the bias is optional.
struct attention_arrays {
  array q, k, v;
  optional_array bias;
};

/// The mask of a call with keys of shape `[batch, heads, keys, channels]`: a named one, and further
/// restricted by `allowed`, booleans per pair, and `segments`, offsets of packed samples.
inline named_mask mask_of(std::string const& mask, array const& k, optional_array const& allowed,
                          optional_array const& segments) {
  stored_masks stored;
  if (allowed)
    stored.allowed = ss::mask::tensor{
        view4<bool const>(*allowed, "[batch or 1, heads or 1, queries or 1, keys]")};
  if (segments)
    stored.segments =
        ss::mask::segments<index_t>{view1<index_t const>(*segments, "[segments + 1]")};
  return named_mask(mask, k.extents[2], stored);
}

namespace detail {

inline constexpr char const* query_axes = "[batch, heads, queries, channels]";
inline constexpr char const* key_axes = "[batch, heads, keys, channels]";
inline constexpr char const* value_axes = "[batch, heads, keys, values]";
inline constexpr char const* output_axes = "[batch, heads, queries, values]";
inline constexpr char const* bias_axes =
    "[batch, heads, queries, keys] or [batch, heads, 1, queries + keys - 1]";

template <class T>
ss::attention_inputs<T> inputs(attention_arrays const& arrays) {
  return {view4<T const>(arrays.q, query_axes), view4<T const>(arrays.k, key_axes),
          view4<T const>(arrays.v, value_axes), view4_or_none<T const>(arrays.bias, bias_axes)};
}

template <class T>
ss::attention_gradients<T> gradients(attention_arrays const& arrays) {
  return {view4<T>(arrays.q, query_axes), view4<T>(arrays.k, key_axes),
          view4<T>(arrays.v, value_axes), view4_or_none<T>(arrays.bias, bias_axes)};
}

}  // namespace detail

}  // namespace bindings
