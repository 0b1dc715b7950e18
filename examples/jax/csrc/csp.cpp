// SPDX-License-Identifier: Apache-2.0
// csp and sinkhorn_csp as XLA handlers.
#include "../../bindings/csp.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::csp_policies csp_policies_of(attributes const& attrs) {
  return {attrs.text("groups"), attrs.text("shift"), attrs.text("alignment")};
}
bindings::sinkhorn_policies sinkhorn_policies_of(attributes const& attrs) {
  return {attrs.text("groups"), attrs.text("shift"), attrs.real("tau"), attrs.integer("iterations"),
          attrs.integer("reference")};
}

ffi::Error csp(xla_context context, input x, input lengths, output y, output order,
               attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::csp(call, csp_policies_of(attrs), to_array("x", x), to_array("y", y),
                  to_optional("order", order), call.lengths("lengths", lengths));
  });
}
ffi::Error csp_backward(xla_context context, input dy, input order, input lengths, output dx,
                        attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::csp_backward(call, csp_policies_of(attrs), to_array("dy", dy),
                           to_array("order", order), to_array("dx", dx),
                           call.lengths("lengths", lengths));
  });
}
ffi::Error sinkhorn_csp(xla_context context, input x, input lengths, output y, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::sinkhorn_csp(call, sinkhorn_policies_of(attrs), to_array("x", x), to_array("y", y),
                           call.lengths("lengths", lengths));
  });
}
ffi::Error sinkhorn_csp_backward(xla_context context, input dy, input x, input lengths, output dx,
                                 attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::sinkhorn_csp_backward(call, sinkhorn_policies_of(attrs), to_array("dy", dy),
                                    to_array("x", x), to_array("dx", dx),
                                    call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(csp, 2, 2);
SLICESORT_JAX_HANDLER(csp_backward, 3, 1);
SLICESORT_JAX_HANDLER(sinkhorn_csp, 2, 1);
SLICESORT_JAX_HANDLER(sinkhorn_csp_backward, 3, 1);
