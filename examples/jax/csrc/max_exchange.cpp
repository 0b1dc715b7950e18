// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/max_exchange.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error exchange(place at, in x, in lengths, out y, out maximum, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::max_exchange(here, with.integer("row"), to_array("x", x), to_array("y", y),
                           to_optional("maximum", maximum), here.lengths("lengths", lengths));
  });
}
ffi::Error exchange_back(place at, in dy, in maximum, in lengths, out dx, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::max_exchange_backward(here, with.integer("row"), to_array("dy", dy),
                                    to_array("maximum", maximum), to_array("dx", dx),
                                    here.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(max_exchange, 2, 2, slicesort_jax::exchange);
SLICESORT_JAX_HANDLER(max_exchange_back, 3, 1, slicesort_jax::exchange_back);
