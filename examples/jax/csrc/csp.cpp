// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/csp.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::csp_policies csp_of(attributes const& with) {
  return {with.text("groups"), with.text("shift"), with.text("alignment")};
}
bindings::sinkhorn_policies sinkhorn_of(attributes const& with) {
  return {with.text("groups"), with.text("shift"), with.real("tau"), with.integer("iterations"),
          with.integer("reference")};
}

ffi::Error csp(place at, in x, in lengths, out y, out order, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::csp(here, csp_of(with), to_array("x", x), to_array("y", y),
                  to_optional("order", order), here.lengths("lengths", lengths));
  });
}
ffi::Error csp_back(place at, in dy, in order, in lengths, out dx, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::csp_backward(here, csp_of(with), to_array("dy", dy), to_array("order", order),
                           to_array("dx", dx), here.lengths("lengths", lengths));
  });
}
ffi::Error sinkhorn(place at, in x, in lengths, out y, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::sinkhorn_csp(here, sinkhorn_of(with), to_array("x", x), to_array("y", y),
                           here.lengths("lengths", lengths));
  });
}
ffi::Error sinkhorn_back(place at, in dy, in x, in lengths, out dx, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::sinkhorn_csp_backward(here, sinkhorn_of(with), to_array("dy", dy), to_array("x", x),
                                    to_array("dx", dx), here.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(csp, 2, 2, slicesort_jax::csp);
SLICESORT_JAX_HANDLER(csp_back, 3, 1, slicesort_jax::csp_back);
SLICESORT_JAX_HANDLER(sinkhorn_csp, 2, 1, slicesort_jax::sinkhorn);
SLICESORT_JAX_HANDLER(sinkhorn_csp_back, 3, 1, slicesort_jax::sinkhorn_back);
