// SPDX-License-Identifier: Apache-2.0
// soft_sort and soft_rank as XLA handlers.
#include "../../bindings/soft_sort.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::soft_sort_settings settings_of(attributes const& attrs) {
  return {attrs.integer("ranks") != 0, attrs.text("regularization"), attrs.real("strength")};
}

ffi::Error soft_sort(xla_context context, input x, input lengths, output y, output perm,
                     output pools, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::soft_sort(call, settings_of(attrs), to_array("x", x), to_array("y", y),
                        to_array("perm", perm), to_array("pools", pools),
                        call.lengths("lengths", lengths));
  });
}
ffi::Error soft_sort_backward(xla_context context, input dy, input x, input perm, input pools,
                              input lengths, output dx, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::soft_sort_backward(call, settings_of(attrs), to_array("dy", dy), to_array("x", x),
                                 to_array("perm", perm), to_array("pools", pools),
                                 to_array("dx", dx), call.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(soft_sort, 2, 3);
SLICESORT_JAX_HANDLER(soft_sort_backward, 5, 1);
