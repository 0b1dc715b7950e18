// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/multi_permutation.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error mix(place at, in x, in weights, in lengths, out y, out perm, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::multi_permutation(here, with.text("order"), to_array("x", x),
                                to_array("weights", weights), to_array("y", y),
                                to_optional("perm", perm), here.lengths("lengths", lengths));
  });
}
ffi::Error mix_back(place at, in dy, in x, in weights, in perm, in lengths, out dx, out dweights,
                    attributes) {
  return run(std::move(at), [&](call& here) {
    bindings::multi_permutation_backward(here, to_array("dy", dy), to_array("x", x),
                                         to_array("weights", weights), to_array("perm", perm),
                                         to_array("dx", dx), to_array("dweights", dweights),
                                         here.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(multi_permutation, 3, 2, slicesort_jax::mix);
SLICESORT_JAX_HANDLER(multi_permutation_back, 5, 2, slicesort_jax::mix_back);
