// SPDX-License-Identifier: Apache-2.0
// top_k and argsort with element type, tensor rank and policies chosen at run time.
#pragma once

#include "policies/named_order.hpp"

#include <slicesort/argsort.hpp>
#include <slicesort/top_k.hpp>

#include <string>

namespace bindings {

template <class Call>
void top_k(Call& call, index_t k, std::string const& order, bool by_index, bool nan_last,
           array const& x, array const& values, array const& indices,
           optional_array const& lengths) {
  ss::top_k<named_order> const op(
      k, by_index ? ss::top_k_output::by_index : ss::top_k_output::sorted,
      nan_last ? ss::nan_order::last : ss::nan_order::total, named_order(order));
  with_element(x, [&](auto element) {
    using T = decltype(element);
    auto const x_view = view3<T const>(x);
    op.forward(call.exec, x_view, view3<T>(values), saved_view(indices), call.memory,
               lengths_of(lengths));
  });
}
template <class Call>
void top_k_backward(Call& call, array const& dy, array const& indices, array const& dx) {
  ss::top_k<named_order> const op(dy.rank == 3 ? dy.extents[1] : 0);
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    auto const dy_view = view3<T const>(dy);
    op.backward(call.exec, dy_view, index_view(indices), view3<T>(dx), call.memory);
  });
}

template <class Call>
void argsort(Call& call, std::string const& order, array const& x, array const& indices,
             optional_array const& lengths) {
  ss::argsort<named_order> const op{named_order(order)};
  with_element(x, [&](auto element) {
    using T = decltype(element);
    auto const x_view = view3<T const>(x);
    op.forward(call.exec, x_view, index_view(indices), call.memory, lengths_of(lengths));
  });
}

}  // namespace bindings
