// SPDX-License-Identifier: Apache-2.0
// shuffle as torch operators.
#include "../../bindings/shuffle.hpp"

#include "backend.hpp"

#include <cstdint>
#include <string>

namespace adapter {
namespace {

Tensor shuffle(Tensor const& x, int64_t seed, std::string form, optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x);
  bindings::shuffle(call, seed, form, call(x, "x"), call(y, "y"), call(lengths, "lengths"));
  return y;
}
Tensor shuffle_backward(Tensor const& dy, int64_t seed, std::string form, optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy);
  bindings::shuffle_backward(call, seed, form, call(dy, "dy"), call(dx, "dx"),
                             call(lengths, "lengths"));
  return dx;
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "shuffle(Tensor x, int seed=0, str form=\"shared_by_channels\", Tensor? lengths=None) -> "
      "Tensor");
  m.def(
      "shuffle_backward(Tensor dy, int seed=0, str form=\"shared_by_channels\", "
      "Tensor? lengths=None) -> Tensor");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("shuffle", boxed<&shuffle>);
  m.impl("shuffle_backward", boxed<&shuffle_backward>);
}

}  // namespace adapter
