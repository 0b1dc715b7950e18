// SPDX-License-Identifier: Apache-2.0
// sparse_mix as XLA handlers.
#include "../../bindings/sparse_mix.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::mix_policies policies_of(attributes const& attrs) {
  return {attrs.text("topology"), attrs.text("residual"), attrs.integer("checkpoint_every")};
}

ffi::Error sparse_mix(xla_context context, input x, input w, input lengths, output y, output states,
                      attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::sparse_mix(call, policies_of(attrs), to_array("x", x), to_array("w", w),
                         to_array("y", y), to_optional("states", states),
                         call.lengths("lengths", lengths));
  });
}
ffi::Error sparse_mix_backward(xla_context context, input dy, input x, input w, input states,
                               input lengths, output dx, output dw, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::sparse_mix_backward(call, policies_of(attrs), to_array("dy", dy), to_array("x", x),
                                  to_array("w", w), to_array("states", states), to_array("dx", dx),
                                  to_array("dw", dw), call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(sparse_mix, 3, 2);
SLICESORT_JAX_HANDLER(sparse_mix_backward, 5, 2);
