// SPDX-License-Identifier: Apache-2.0
// shuffle as XLA handlers.
#include "../../bindings/shuffle.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error shuffle(xla_context context, input x, input seed, input lengths, output y,
                   attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::shuffle(call, call.seed(seed), attrs.text("form"), to_array("x", x), to_array("y", y),
                      call.lengths("lengths", lengths));
  });
}
ffi::Error shuffle_backward(xla_context context, input dy, input seed, input lengths, output dx,
                            attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::shuffle_backward(call, call.seed(seed), attrs.text("form"), to_array("dy", dy),
                               to_array("dx", dx), call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(shuffle, 3, 1);
SLICESORT_JAX_HANDLER(shuffle_backward, 3, 1);
