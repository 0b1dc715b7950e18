// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/slicing_sort.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error sort(place at, in x, in lengths, out y, out perm, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::slicing_sort(here, with.text("order"), to_array("x", x), to_array("y", y),
                           to_optional("perm", perm), here.lengths("lengths", lengths));
  });
}
// Indices that no sort has saved are "unchecked".
void check_rows(call& here, in const& perm, in const& lengths, attributes const& with) {
  if (with.has("unchecked"))
    here.require_rows(to_array("perm", perm), here.lengths("lengths", lengths));
}
ffi::Error permute(place at, in x, in perm, in lengths, out y, attributes with) {
  return run(std::move(at), [&](call& here) {
    check_rows(here, perm, lengths, with);
    bindings::permute(here, to_array("x", x), to_array("perm", perm), to_array("y", y),
                      here.lengths("lengths", lengths));
  });
}
ffi::Error permute_back(place at, in dy, in perm, in lengths, out dx, attributes with) {
  return run(std::move(at), [&](call& here) {
    check_rows(here, perm, lengths, with);
    bindings::slicing_sort_backward(here, to_array("dy", dy), to_array("perm", perm),
                                    to_array("dx", dx), here.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(slicing_sort, 2, 2, slicesort_jax::sort);
SLICESORT_JAX_HANDLER(permute, 3, 1, slicesort_jax::permute);
SLICESORT_JAX_HANDLER(permute_back, 3, 1, slicesort_jax::permute_back);
