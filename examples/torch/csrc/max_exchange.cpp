// SPDX-License-Identifier: Apache-2.0
// max_exchange as torch operators.
#include "../../bindings/max_exchange.hpp"

#include "backend.hpp"

#include <cstdint>
#include <tuple>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor> max_exchange(Tensor const& x, int64_t row, optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x);
  Tensor maximum = make_tensor(x, {extent(x, 0), 1, extent(x, 2)}, index_type(extent(x, 1)));
  if (extent(x, 1) == 0) torch::stable::zero_(maximum);  // the operator writes nothing
  bindings::max_exchange(call, row, call(x, "x"), call(y, "y"), call(maximum, "maximum"),
                         call(lengths, "lengths"));
  return {y, maximum};
}
Tensor max_exchange_backward(Tensor const& dy, Tensor const& maximum, int64_t row,
                             optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy);
  bindings::max_exchange_backward(call, row, call(dy, "dy"), call(maximum, "maximum"),
                                  call(dx, "dx"), call(lengths, "lengths"));
  return dx;
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def("max_exchange(Tensor x, int row=0, Tensor? lengths=None) -> (Tensor y, Tensor maximum)");
  m.def(
      "max_exchange_backward(Tensor dy, Tensor maximum, int row=0, Tensor? lengths=None) -> "
      "Tensor");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("max_exchange", boxed<&max_exchange>);
  m.impl("max_exchange_backward", boxed<&max_exchange_backward>);
}

}  // namespace adapter
