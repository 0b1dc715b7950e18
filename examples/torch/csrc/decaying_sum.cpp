// SPDX-License-Identifier: Apache-2.0
// decaying_sum as torch operators.
#include "../../bindings/decaying_sum.hpp"

#include "backend.hpp"

#include <string>
#include <tuple>

namespace adapter {
namespace {

bindings::decaying_sum_arrays arrays_of(torch_call const& call, Tensor const& x, Tensor const& a,
                                        Tensor const& w, Tensor const& initial,
                                        optional_tensor const& lengths) {
  return {call(x, "x"), call(a, "a"), call(w, "w"), call(initial, "initial"),
          call(lengths, "lengths")};
}

std::tuple<Tensor, Tensor> decaying_sum(Tensor const& x, Tensor const& a, Tensor const& w,
                                        Tensor const& initial, bool is_complex,
                                        std::string direction, optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x), last = make_like(initial);
  bindings::decaying_sum(call, {is_complex, direction}, arrays_of(call, x, a, w, initial, lengths),
                         call(y, "y"), call(last, "last"));
  return {y, last};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> decaying_sum_backward(
    Tensor const& dy, Tensor const& dlast, Tensor const& x, Tensor const& a, Tensor const& w,
    Tensor const& initial, bool is_complex, std::string direction, optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy), da = make_like(a), dw = make_like(w),
               dinitial = make_like(initial);
  bindings::decaying_sum_backward(
      call, {is_complex, direction}, call(dy, "dy"), call(dlast, "dlast"),
      arrays_of(call, x, a, w, initial, lengths),
      {call(dx, "dx"), call(da, "da"), call(dw, "dw"), call(dinitial, "dinitial")});
  return {dx, da, dw, dinitial};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "decaying_sum(Tensor x, Tensor a, Tensor w, Tensor initial, bool is_complex, str direction, "
      "Tensor? lengths=None) -> (Tensor y, Tensor last)");
  m.def(
      "decaying_sum_backward(Tensor dy, Tensor dlast, Tensor x, Tensor a, Tensor w, "
      "Tensor initial, bool is_complex, str direction, Tensor? lengths=None) "
      "-> (Tensor dx, Tensor da, Tensor dw, Tensor dinitial)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("decaying_sum", boxed<&decaying_sum>);
  m.impl("decaying_sum_backward", boxed<&decaying_sum_backward>);
}

}  // namespace adapter
