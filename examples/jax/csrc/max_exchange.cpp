// SPDX-License-Identifier: Apache-2.0
// max_exchange as XLA handlers.
#include "../../bindings/max_exchange.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error max_exchange(xla_context context, input x, input lengths, output y, output maximum,
                        attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::max_exchange(call, attrs.integer("row"), to_array("x", x), to_array("y", y),
                           to_optional("maximum", maximum), call.lengths("lengths", lengths));
  });
}
ffi::Error max_exchange_backward(xla_context context, input dy, input maximum, input lengths,
                                 output dx, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::max_exchange_backward(call, attrs.integer("row"), to_array("dy", dy),
                                    to_array("maximum", maximum), to_array("dx", dx),
                                    call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(max_exchange, 2, 2);
SLICESORT_JAX_HANDLER(max_exchange_backward, 3, 1);
