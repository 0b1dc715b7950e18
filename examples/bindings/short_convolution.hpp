// SPDX-License-Identifier: Apache-2.0
// short_convolution with run-time types.
#pragma once

#include "array.hpp"

#include <slicesort/short_convolution.hpp>

namespace bindings {

namespace detail {

/// Views filters `[groups, taps]` as the operator's `[1, taps, groups]`.
template <class T>
ss::tensor3<T> filters(array const& weights) {
  require_rank(weights, 2, "[groups, taps]");
  return {elements<T>(weights),
          {1, weights.extents[1], weights.extents[0]},
          {weights.extents[0] * weights.strides[0] + weights.extents[1] * weights.strides[1],
           weights.strides[1], weights.strides[0]}};
}

}  // namespace detail

/// `weights` are `[groups, taps]`.
template <class Call>
void short_convolution(Call& call, index_t shift, array const& x, array const& weights,
                       array const& y, optional_array const& lengths) {
  with_element(x, [&](auto element) {
    using T = decltype(element);
    auto const w = detail::filters<T const>(weights);
    ss::short_convolution const op(w.extents().length, shift);
    op.forward(call.exec, view3<T const>(x), w, view3<T>(y), call.memory, lengths_of(lengths));
  });
}
/// Computes both gradients; `x` is forward's input.
template <class Call>
void short_convolution_backward(Call& call, index_t shift, array const& dy, array const& x,
                                array const& weights, array const& dx, array const& dweights,
                                optional_array const& lengths) {
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    auto const w = detail::filters<T const>(weights);
    ss::short_convolution const op(w.extents().length, shift);
    op.backward(call.exec, view3<T const>(dy), view3<T const>(x), w, view3<T>(dx),
                detail::filters<T>(dweights), call.memory, lengths_of(lengths));
  });
}

}  // namespace bindings
