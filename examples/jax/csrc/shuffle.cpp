// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/shuffle.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

ffi::Error shuffle(place at, in x, in seed, in lengths, out y, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::shuffle(here, here.seed(seed), with.text("form"), to_array("x", x), to_array("y", y),
                      here.lengths("lengths", lengths));
  });
}
ffi::Error shuffle_back(place at, in dy, in seed, in lengths, out dx, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::shuffle_backward(here, here.seed(seed), with.text("form"), to_array("dy", dy),
                               to_array("dx", dx), here.lengths("lengths", lengths));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(shuffle, 3, 1, slicesort_jax::shuffle);
SLICESORT_JAX_HANDLER(shuffle_back, 3, 1, slicesort_jax::shuffle_back);
