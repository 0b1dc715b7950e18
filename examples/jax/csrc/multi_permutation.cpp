// SPDX-License-Identifier: Apache-2.0
// multi_permutation as XLA handlers.
#include "../../bindings/multi_permutation.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error multi_permutation(xla_context context, input x, input weights, input lengths, output y,
                             output perm, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::multi_permutation(call, attrs.text("order"), to_array("x", x),
                                to_array("weights", weights), to_array("y", y),
                                to_optional("perm", perm), call.lengths("lengths", lengths));
  });
}
ffi::Error multi_permutation_backward(xla_context context, input dy, input x, input weights,
                                      input perm, input lengths, output dx, output dweights,
                                      attributes) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::multi_permutation_backward(call, to_array("dy", dy), to_array("x", x),
                                         to_array("weights", weights), to_array("perm", perm),
                                         to_array("dx", dx), to_array("dweights", dweights),
                                         call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(multi_permutation, 3, 2);
SLICESORT_JAX_HANDLER(multi_permutation_backward, 5, 2);
