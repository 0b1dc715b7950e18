// SPDX-License-Identifier: Apache-2.0
// slicing_sort and permute as XLA handlers.
#include "../../bindings/slicing_sort.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error slicing_sort(xla_context context, input x, input lengths, output y, output perm,
                        attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::slicing_sort(call, attrs.text("order"), to_array("x", x), to_array("y", y),
                           to_optional("perm", perm), call.lengths("lengths", lengths));
  });
}
// Checks indices that come from the caller; the attribute "unchecked" marks them.
void check_rows(xla_call& call, input const& perm, input const& lengths, attributes const& attrs) {
  if (attrs.has("unchecked"))
    call.require_rows(to_array("perm", perm), call.lengths("lengths", lengths));
}
ffi::Error permute(xla_context context, input x, input perm, input lengths, output y,
                   attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    check_rows(call, perm, lengths, attrs);
    bindings::permute(call, to_array("x", x), to_array("perm", perm), to_array("y", y),
                      call.lengths("lengths", lengths));
  });
}
ffi::Error permute_backward(xla_context context, input dy, input perm, input lengths, output dx,
                            attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    check_rows(call, perm, lengths, attrs);
    bindings::slicing_sort_backward(call, to_array("dy", dy), to_array("perm", perm),
                                    to_array("dx", dx), call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(slicing_sort, 2, 2);
SLICESORT_JAX_HANDLER(permute, 3, 1);
SLICESORT_JAX_HANDLER(permute_backward, 3, 1);
