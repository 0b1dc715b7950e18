// SPDX-License-Identifier: Apache-2.0
// short_convolution as torch operators.
#include "../../bindings/short_convolution.hpp"

#include "backend.hpp"

#include <cstdint>
#include <tuple>

namespace adapter {
namespace {

Tensor short_convolution(Tensor const& x, Tensor const& weights, std::int64_t shift,
                         optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x);
  bindings::short_convolution(call, shift, call(x, "x"), call(weights, "weights"), call(y, "y"),
                              call(lengths, "lengths"));
  return y;
}
std::tuple<Tensor, Tensor> short_convolution_backward(Tensor const& dy, Tensor const& x,
                                                      Tensor const& weights, std::int64_t shift,
                                                      optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy), dweights = make_like(weights);
  bindings::short_convolution_backward(call, shift, call(dy, "dy"), call(x, "x"),
                                       call(weights, "weights"), call(dx, "dx"),
                                       call(dweights, "dweights"), call(lengths, "lengths"));
  return {dx, dweights};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def("short_convolution(Tensor x, Tensor weights, int shift, Tensor? lengths=None) -> Tensor y");
  m.def(
      "short_convolution_backward(Tensor dy, Tensor x, Tensor weights, int shift, "
      "Tensor? lengths=None) -> (Tensor dx, Tensor dweights)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("short_convolution", boxed<&short_convolution>);
  m.impl("short_convolution_backward", boxed<&short_convolution_backward>);
}

}  // namespace adapter
