// SPDX-License-Identifier: Apache-2.0
// decaying_sum as XLA handlers.
#include "../../bindings/decaying_sum.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::decaying_sum_parameters decaying_sum_parameters_of(attributes const& attrs) {
  return {attrs.integer("is_complex") != 0, attrs.text("direction")};
}
bindings::decaying_sum_arrays arrays_of(xla_call& call, input const& x, input const& a,
                                        input const& w, input const& initial,
                                        input const& lengths) {
  return {to_array("x", x), to_array("a", a), to_array("w", w), to_array("initial", initial),
          call.lengths("lengths", lengths)};
}

ffi::Error decaying_sum(xla_context context, input x, input a, input w, input initial,
                        input lengths, output y, output last, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::decaying_sum(call, decaying_sum_parameters_of(attrs),
                           arrays_of(call, x, a, w, initial, lengths), to_array("y", y),
                           to_array("last", last));
  });
}
ffi::Error decaying_sum_backward(xla_context context, input dy, input dlast, input x, input a,
                                 input w, input initial, input lengths, output dx, output da,
                                 output dw, output dinitial, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::decaying_sum_backward(call, decaying_sum_parameters_of(attrs), to_array("dy", dy),
                                    to_array("dlast", dlast),
                                    arrays_of(call, x, a, w, initial, lengths),
                                    {to_array("dx", dx), to_array("da", da), to_array("dw", dw),
                                     to_array("dinitial", dinitial)});
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(decaying_sum, 5, 2);
SLICESORT_JAX_HANDLER(decaying_sum_backward, 7, 4);
