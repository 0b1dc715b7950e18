// SPDX-License-Identifier: Apache-2.0
// short_convolution as XLA handlers.
#include "../../bindings/short_convolution.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error short_convolution(xla_context context, input x, input weights, input lengths, output y,
                             attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::short_convolution(call, attrs.integer("shift"), to_array("x", x),
                                to_array("weights", weights), to_array("y", y),
                                call.lengths("lengths", lengths));
  });
}
ffi::Error short_convolution_backward(xla_context context, input dy, input x, input weights,
                                      input lengths, output dx, output dweights, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::short_convolution_backward(call, attrs.integer("shift"), to_array("dy", dy),
                                         to_array("x", x), to_array("weights", weights),
                                         to_array("dx", dx), to_array("dweights", dweights),
                                         call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(short_convolution, 3, 1);
SLICESORT_JAX_HANDLER(short_convolution_backward, 4, 2);
