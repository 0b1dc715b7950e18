// SPDX-License-Identifier: Apache-2.0
// soft_sort and soft_rank as torch operators.
#include "../../bindings/soft_sort.hpp"

#include "backend.hpp"

#include <string>
#include <tuple>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor, Tensor> soft_sort(Tensor const& x, bool ranks,
                                             std::string regularization, double strength,
                                             optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x);
  Tensor const perm = make_like(x, index_type(extent(x, 1))),
               pools = make_like(x, index_type(extent(x, 1)));
  bindings::soft_sort(call, {ranks, regularization, strength}, call(x, "x"), call(y, "y"),
                      call(perm, "perm"), call(pools, "pools"), call(lengths, "lengths"));
  return {y, perm, pools};
}
Tensor soft_sort_backward(Tensor const& dy, Tensor const& x, Tensor const& perm,
                          Tensor const& pools, bool ranks, std::string regularization,
                          double strength, optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy);
  bindings::soft_sort_backward(call, {ranks, regularization, strength}, call(dy, "dy"),
                               call(x, "x"), call(perm, "perm"), call(pools, "pools"),
                               call(dx, "dx"), call(lengths, "lengths"));
  return dx;
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "soft_sort(Tensor x, bool ranks, str regularization, float strength, "
      "Tensor? lengths=None) -> (Tensor y, Tensor perm, Tensor pools)");
  m.def(
      "soft_sort_backward(Tensor dy, Tensor x, Tensor perm, Tensor pools, bool ranks, "
      "str regularization, float strength, Tensor? lengths=None) -> Tensor");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("soft_sort", boxed<&soft_sort>);
  m.impl("soft_sort_backward", boxed<&soft_sort_backward>);
}

}  // namespace adapter
