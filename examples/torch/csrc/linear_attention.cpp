// SPDX-License-Identifier: Apache-2.0
// linear_attention as torch operators.
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
  torch_call call(q);
  Tensor const y = make_output(q, v);
  bindings::linear_attention(
      call,
      {feature, divisor, direction, call(lengths, "lengths"), call(query_lengths, "query_lengths")},
      {call(q, "q"), call(k, "k"), call(v, "v"), call(w, "w")}, call(y, "y"));
  return y;
}
std::tuple<Tensor, Tensor, Tensor, Tensor> linear_attention_backward(
    Tensor const& dy, Tensor const& q, Tensor const& k, Tensor const& v, optional_tensor w,
    std::string feature, std::string divisor, std::string direction, optional_tensor lengths,
    optional_tensor query_lengths, bool w_gradient) {
  torch_call call(q);
  bool const has_dw = w && w_gradient;
  Tensor const dq = make_like(q), dk = make_like(k), dv = make_like(v),
               dw = has_dw ? make_like(*w) : make_tensor(q, {0});
  optional_array const dw_array = has_dw ? optional_array(call(dw, "dw")) : std::nullopt;
  bindings::linear_attention_backward(
      call,
      {feature, divisor, direction, call(lengths, "lengths"), call(query_lengths, "query_lengths")},
      call(dy, "dy"), {call(q, "q"), call(k, "k"), call(v, "v"), call(w, "w")},
      {call(dq, "dq"), call(dk, "dk"), call(dv, "dv"), dw_array});
  return {dq, dk, dv, dw};
}

std::tuple<Tensor, Tensor> linear_attention_with_state(Tensor const& q, Tensor const& k,
                                                       Tensor const& v, Tensor const& initial,
                                                       optional_tensor w, std::string feature,
                                                       std::string divisor,
                                                       optional_tensor lengths) {
  torch_call call(q);
  Tensor const y = make_output(q, v), last = make_like(initial);
  optional_array const length_array = call(lengths, "lengths");
  bindings::linear_attention_with_state(
      call, {feature, divisor, "causal", length_array, length_array},
      {call(q, "q"), call(k, "k"), call(v, "v"), call(w, "w")}, call(y, "y"),
      {call(initial, "initial"), call(last, "last")});
  return {y, last};
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> linear_attention_with_state_backward(
    Tensor const& dy, Tensor const& dlast, Tensor const& q, Tensor const& k, Tensor const& v,
    Tensor const& initial, optional_tensor w, std::string feature, std::string divisor,
    optional_tensor lengths, bool w_gradient) {
  torch_call call(q);
  bool const has_dw = w && w_gradient;
  Tensor const dq = make_like(q), dk = make_like(k), dv = make_like(v),
               dinitial = make_like(initial), dw = has_dw ? make_like(*w) : make_tensor(q, {0});
  optional_array const dw_array = has_dw ? optional_array(call(dw, "dw")) : std::nullopt;
  optional_array const length_array = call(lengths, "lengths");
  bindings::linear_attention_with_state_backward(
      call, {feature, divisor, "causal", length_array, length_array}, call(dy, "dy"),
      {call(q, "q"), call(k, "k"), call(v, "v"), call(w, "w")},
      {call(dq, "dq"), call(dk, "dk"), call(dv, "dv"), dw_array},
      {call(initial, "initial"), call(dlast, "dlast"), call(dinitial, "dinitial")});
  return {dq, dk, dv, dinitial, dw};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "linear_attention(Tensor q, Tensor k, Tensor v, Tensor? w=None, "
      "str feature=\"elu_plus_one\", str divisor=\"sum_plus\", str direction=\"noncausal\", "
      "Tensor? lengths=None, Tensor? query_lengths=None) -> Tensor");
  m.def(
      "linear_attention_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor? w, "
      "str feature, str divisor, str direction, Tensor? lengths, Tensor? query_lengths, "
      "bool w_gradient) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dw)");
  m.def(
      "linear_attention_with_state(Tensor q, Tensor k, Tensor v, Tensor initial, Tensor? w, "
      "str feature, str divisor, Tensor? lengths=None) -> (Tensor y, Tensor last)");
  m.def(
      "linear_attention_with_state_backward(Tensor dy, Tensor dlast, Tensor q, Tensor k, Tensor v, "
      "Tensor initial, Tensor? w, str feature, str divisor, Tensor? lengths, bool w_gradient) "
      "-> (Tensor dq, Tensor dk, Tensor dv, Tensor dinitial, Tensor dw)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("linear_attention", boxed<&linear_attention>);
  m.impl("linear_attention_backward", boxed<&linear_attention_backward>);
  m.impl("linear_attention_with_state", boxed<&linear_attention_with_state>);
  m.impl("linear_attention_with_state_backward", boxed<&linear_attention_with_state_backward>);
}

}  // namespace adapter
