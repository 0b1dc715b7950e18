// SPDX-License-Identifier: Apache-2.0
// multi_permutation as torch operators.
#include "../../bindings/multi_permutation.hpp"

#include "backend.hpp"

#include <string>
#include <tuple>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor> multi_permutation(Tensor const& x, Tensor const& weights,
                                             std::string order, optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x), perm = make_like(x, index_type(extent(x, 1)));
  bindings::multi_permutation(call, order, call(x, "x"), call(weights, "weights"), call(y, "y"),
                              call(perm, "perm"), call(lengths, "lengths"));
  return {y, perm};
}
std::tuple<Tensor, Tensor> multi_permutation_backward(Tensor const& dy, Tensor const& x,
                                                      Tensor const& weights, Tensor const& perm,
                                                      optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy), dweights = make_like(weights);
  bindings::multi_permutation_backward(call, call(dy, "dy"), call(x, "x"), call(weights, "weights"),
                                       call(perm, "perm"), call(dx, "dx"),
                                       call(dweights, "dweights"), call(lengths, "lengths"));
  return {dx, dweights};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "multi_permutation(Tensor x, Tensor weights, str order=\"ascending\", "
      "Tensor? lengths=None) -> (Tensor y, Tensor perm)");
  m.def(
      "multi_permutation_backward(Tensor dy, Tensor x, Tensor weights, Tensor perm, "
      "Tensor? lengths=None) -> (Tensor dx, Tensor dweights)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("multi_permutation", boxed<&multi_permutation>);
  m.impl("multi_permutation_backward", boxed<&multi_permutation_backward>);
}

}  // namespace adapter
