// SPDX-License-Identifier: Apache-2.0
// multi_permutation with element type, tensor rank and policies chosen at run time.
#pragma once

#include "policies/named_order.hpp"

#include <slicesort/multi_permutation.hpp>

#include <string>

namespace bindings {

/// `weights` are `[components]`, of the accumulator's type.
template <class Call>
void multi_permutation(Call& call, std::string const& order, array const& x, array const& weights,
                       array const& y, optional_array const& perm, optional_array const& lengths) {
  ss::multi_permutation<named_order> const op(weights.extents[0], named_order(order));
  with_element(x, [&](auto element) {
    using T = decltype(element);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const w = view1<A const>(weights, "[components]");
    auto const x_view = view3<T const>(x);
    op.forward(call.exec, x_view, w, view3<T>(y), saved_view(perm), call.memory,
               lengths_of(lengths));
  });
}
/// Computes both gradients; `x` is forward's input.
template <class Call>
void multi_permutation_backward(Call& call, array const& dy, array const& x, array const& weights,
                                array const& perm, array const& dx, array const& dweights,
                                optional_array const& lengths) {
  ss::multi_permutation<named_order> const op(weights.extents[0], named_order());
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const w = view1<A const>(weights, "[components]");
    auto const dy_view = view3<T const>(dy);
    op.backward(call.exec, dy_view, view3<T const>(x), w, index_view(perm), view3<T>(dx),
                view1<A>(dweights, "[components]"), call.memory, lengths_of(lengths));
  });
}

}  // namespace bindings
