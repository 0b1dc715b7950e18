// SPDX-License-Identifier: Apache-2.0
// slicing_sort and permute as torch operators.
#include "../../bindings/slicing_sort.hpp"

#include "backend.hpp"

#include <string>
#include <tuple>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor> slicing_sort(Tensor const& x, std::string order, bool save,
                                        optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x);
  Tensor const perm = save ? make_like(x, index_type(extent(x, 1)))
                           : make_tensor(x, {0, 0, 0}, index_type(extent(x, 1)));
  optional_array const saved = save ? optional_array(array_of(perm, "perm")) : std::nullopt;
  bindings::slicing_sort(call, order, call(x, "x"), call(y, "y"), saved, call(lengths, "lengths"));
  return {y, perm};
}
Tensor slicing_sort_backward(Tensor const& dy, Tensor const& perm, optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy);
  bindings::slicing_sort_backward(call, call(dy, "dy"), call(perm, "perm"), call(dx, "dx"),
                                  call(lengths, "lengths"));
  return dx;
}
Tensor permute(Tensor const& x, Tensor const& perm, optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x);
  bindings::permute(call, call(x, "x"), call(perm, "perm"), call(y, "y"), call(lengths, "lengths"));
  return y;
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "slicing_sort(Tensor x, str order=\"ascending\", bool save=True, Tensor? lengths=None) -> "
      "(Tensor y, Tensor perm)");
  m.def("slicing_sort_backward(Tensor dy, Tensor perm, Tensor? lengths=None) -> Tensor");
  m.def("permute(Tensor x, Tensor perm, Tensor? lengths=None) -> Tensor");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("slicing_sort", boxed<&slicing_sort>);
  m.impl("slicing_sort_backward", boxed<&slicing_sort_backward>);
  m.impl("permute", boxed<&permute>);
}

}  // namespace adapter
