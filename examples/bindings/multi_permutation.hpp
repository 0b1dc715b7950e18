// SPDX-License-Identifier: Apache-2.0
// multi_permutation with types, ranks and policies of run time.
#pragma once

#include "named_order.hpp"

#include <slicesort/multi_permutation.hpp>

#include <string>

namespace bindings {

/// The number of components is that of the weights, `[components]`, whose type is the
/// accumulator's.
template <class Call>
void multi_permutation(Call& call, std::string const& order, array const& x, array const& weights,
                       array const& y, optional_array const& perm, optional_array const& lengths) {
  ss::multi_permutation<named_order> const op(weights.extents[0], named_order(order));
  with_element(x, [&](auto zero) {
    using T = decltype(zero);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const w = view1<A const>(weights, "[components]");
    auto const in = view3<T const>(x);
    op.forward(call.exec, in, w, view3<T>(y), saved(perm), call.memory, lengths_of(lengths));
  });
}
/// Forms both gradients; `x` is what forward read.
template <class Call>
void multi_permutation_backward(Call& call, array const& dy, array const& x, array const& weights,
                                array const& perm, array const& dx, array const& dweights,
                                optional_array const& lengths) {
  ss::multi_permutation<named_order> const op(weights.extents[0], named_order());
  with_element(dy, [&](auto zero) {
    using T = decltype(zero);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const w = view1<A const>(weights, "[components]");
    auto const in = view3<T const>(dy);
    op.backward(call.exec, in, view3<T const>(x), w, index_view(perm), view3<T>(dx),
                view1<A>(dweights, "[components]"), call.memory, lengths_of(lengths));
  });
}

}  // namespace bindings
