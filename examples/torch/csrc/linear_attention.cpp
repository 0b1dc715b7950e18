// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/linear_attention.hpp"

#include "backend.hpp"

#include <optional>
#include <string>
#include <tuple>

namespace adapter {
namespace {

Tensor linear_attention(Tensor const& q, Tensor const& k, Tensor const& v, optional_tensor w,
                        std::string feature, std::string divisor, std::string direction,
                        optional_tensor lengths, optional_tensor query_lengths) {
  call on(q);
  Tensor const y = make_output(q, v);
  bindings::linear_attention(
      on, {feature, divisor, direction, on(lengths, "lengths"), on(query_lengths, "query_lengths")},
      {on(q, "q"), on(k, "k"), on(v, "v"), on(w, "w")}, on(y, "y"));
  return y;
}
std::tuple<Tensor, Tensor, Tensor, Tensor> linear_attention_backward(
    Tensor const& dy, Tensor const& q, Tensor const& k, Tensor const& v, optional_tensor w,
    std::string feature, std::string divisor, std::string direction, optional_tensor lengths,
    optional_tensor query_lengths, bool w_gradient) {
  call on(q);
  bool const with_w = w && w_gradient;
  Tensor const dq = make_like(q), dk = make_like(k), dv = make_like(v),
               dw = with_w ? make_like(*w) : make(q, {0});
  optional_array const to_w = with_w ? optional_array(on(dw, "dw")) : std::nullopt;
  bindings::linear_attention_backward(
      on, {feature, divisor, direction, on(lengths, "lengths"), on(query_lengths, "query_lengths")},
      on(dy, "dy"), {on(q, "q"), on(k, "k"), on(v, "v"), on(w, "w")},
      {on(dq, "dq"), on(dk, "dk"), on(dv, "dv"), to_w});
  return {dq, dk, dv, dw};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "linear_attention(Tensor q, Tensor k, Tensor v, Tensor? w=None, "
      "str feature=\"elu_plus_one\", str divisor=\"sum_plus\", str direction=\"both\", "
      "Tensor? lengths=None, Tensor? query_lengths=None) -> Tensor");
  m.def(
      "linear_attention_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor? w, "
      "str feature, str divisor, str direction, Tensor? lengths, Tensor? query_lengths, "
      "bool w_gradient) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dw)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("linear_attention", boxed<&linear_attention>);
  m.impl("linear_attention_backward", boxed<&linear_attention_backward>);
}

}  // namespace adapter
