// SPDX-License-Identifier: Apache-2.0
// top_k and argsort as XLA handlers.
#include "../../bindings/top_k.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error top_k(xla_context context, input x, input lengths, output values, output indices,
                 attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::top_k(call, attrs.integer("k"), attrs.text("order"), attrs.integer("by_index") != 0,
                    attrs.integer("nan_last") != 0, to_array("x", x), to_array("values", values),
                    to_array("indices", indices), call.lengths("lengths", lengths));
  });
}
ffi::Error top_k_backward(xla_context context, input dy, input indices, output dx, attributes) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::top_k_backward(call, to_array("dy", dy), to_array("indices", indices),
                             to_array("dx", dx));
  });
}
ffi::Error argsort(xla_context context, input x, input lengths, output indices, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::argsort(call, attrs.text("order"), to_array("x", x), to_array("indices", indices),
                      call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(top_k, 2, 2);
SLICESORT_JAX_HANDLER(top_k_backward, 2, 1);
SLICESORT_JAX_HANDLER(argsort, 2, 1);
