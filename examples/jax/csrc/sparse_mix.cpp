// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/sparse_mix.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::mix_policies policies_of(attributes const& with) {
  return {with.text("topology"), with.text("residual"), with.integer("checkpoint_every")};
}

ffi::Error mix(place at, in x, in w, in lengths, out y, out states, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::sparse_mix(here, policies_of(with), to_array("x", x), to_array("w", w),
                         to_array("y", y), to_optional("states", states),
                         here.lengths("lengths", lengths));
  });
}
ffi::Error mix_back(place at, in dy, in x, in w, in states, in lengths, out dx, out dw,
                    attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::sparse_mix_backward(here, policies_of(with), to_array("dy", dy), to_array("x", x),
                                  to_array("w", w), to_array("states", states), to_array("dx", dx),
                                  to_array("dw", dw), here.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(sparse_mix, 3, 2, slicesort_jax::mix);
SLICESORT_JAX_HANDLER(sparse_mix_back, 5, 2, slicesort_jax::mix_back);
