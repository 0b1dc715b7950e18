// SPDX-License-Identifier: Apache-2.0
// max_exchange with element type and tensor rank chosen at run time.
#pragma once

#include "array.hpp"

#include <slicesort/max_exchange.hpp>

namespace bindings {

template <class Call>
void max_exchange(Call& call, index_t row, array const& x, array const& y,
                  optional_array const& maximum, optional_array const& lengths) {
  ss::max_exchange const op(row);
  with_element(x, [&](auto element) {
    using T = decltype(element);
    auto const x_view = view3<T const>(x);
    op.forward(call.exec, x_view, view3<T>(y), saved_view(maximum), call.memory,
               lengths_of(lengths));
  });
}
template <class Call>
void max_exchange_backward(Call& call, index_t row, array const& dy, array const& maximum,
                           array const& dx, optional_array const& lengths) {
  ss::max_exchange const op(row);
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    auto const dy_view = view3<T const>(dy);
    op.backward(call.exec, dy_view, index_view(maximum), view3<T>(dx), call.memory,
                lengths_of(lengths));
  });
}

}  // namespace bindings
