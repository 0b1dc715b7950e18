// SPDX-License-Identifier: Apache-2.0
// sinkhorn as XLA handlers.
#include "../../bindings/sinkhorn.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::sinkhorn_parameters sinkhorn_parameters_of(attributes const& attrs) {
  return {attrs.real("tau"), attrs.integer("half_steps"), attrs.integer("rows_last") != 0};
}

ffi::Error sinkhorn(xla_context context, input logits, input lengths, input column_lengths,
                    output y, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::sinkhorn(call, sinkhorn_parameters_of(attrs), to_array("logits", logits),
                       to_array("y", y), call.lengths("lengths", lengths),
                       call.lengths("column_lengths", column_lengths));
  });
}
ffi::Error sinkhorn_backward(xla_context context, input dy, input logits, input lengths,
                             input column_lengths, output dlogits, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::sinkhorn_backward(call, sinkhorn_parameters_of(attrs), to_array("dy", dy),
                                to_array("logits", logits), to_array("dlogits", dlogits),
                                call.lengths("lengths", lengths),
                                call.lengths("column_lengths", column_lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(sinkhorn, 3, 1);
SLICESORT_JAX_HANDLER(sinkhorn_backward, 4, 1);
