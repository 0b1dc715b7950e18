// SPDX-License-Identifier: Apache-2.0
// top_k and argsort as torch operators.
#include "../../bindings/top_k.hpp"

#include "backend.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor> top_k(Tensor const& x, int64_t k, std::string order, bool by_index,
                                 bool nan_last, optional_tensor lengths) {
  torch_call call(x);
  std::vector<int64_t> const sizes{extent(x, 0), std::max<int64_t>(k, 0), extent(x, 2)};
  Tensor const values = make_tensor(x, sizes);
  Tensor const indices = make_tensor(x, sizes, index_type(extent(x, 1)));
  bindings::top_k(call, k, order, by_index, nan_last, call(x, "x"), call(values, "values"),
                  call(indices, "indices"), call(lengths, "lengths"));
  return {values, indices};
}
Tensor top_k_backward(Tensor const& dy, Tensor const& indices, int64_t length) {
  torch_call call(dy);
  Tensor const dx = make_tensor(dy, {extent(dy, 0), std::max<int64_t>(length, 0), extent(dy, 2)});
  bindings::top_k_backward(call, call(dy, "dy"), call(indices, "indices"), call(dx, "dx"));
  return dx;
}
Tensor argsort(Tensor const& x, std::string order, optional_tensor lengths) {
  torch_call call(x);
  Tensor const indices = make_like(x, index_type(extent(x, 1)));
  bindings::argsort(call, order, call(x, "x"), call(indices, "indices"), call(lengths, "lengths"));
  return indices;
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "top_k(Tensor x, int k, str order=\"descending\", bool by_index=False, bool nan_last=False, "
      "Tensor? lengths=None) -> (Tensor values, Tensor indices)");
  m.def("top_k_backward(Tensor dy, Tensor indices, int length) -> Tensor");
  m.def("argsort(Tensor x, str order=\"ascending\", Tensor? lengths=None) -> Tensor");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("top_k", boxed<&top_k>);
  m.impl("top_k_backward", boxed<&top_k_backward>);
  m.impl("argsort", boxed<&argsort>);
}

}  // namespace adapter
