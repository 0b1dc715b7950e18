// SPDX-License-Identifier: Apache-2.0
// pointwise_attention as a torch operator.
#include "../../bindings/pointwise_attention.hpp"

#include "backend.hpp"

#include <optional>
#include <string>
#include <tuple>

namespace adapter {
namespace {

Tensor pointwise_attention(Tensor const& q, Tensor const& k, Tensor const& v, optional_tensor bias,
                           std::string mask, std::string function, std::optional<double> scale,
                           bool per_key, optional_tensor lengths, optional_tensor query_lengths,
                           optional_tensor allowed, optional_tensor segments) {
  torch_call call(q);
  Tensor const y = make_output(q, v);
  bindings::pointwise_attention(
      call,
      {mask, function, scale, per_key, call(lengths, "lengths"),
       call(query_lengths, "query_lengths"), call(allowed, "allowed"), call(segments, "segments")},
      {call(q, "q"), call(k, "k"), call(v, "v"), call(bias, "bias")}, call(y, "y"));
  return y;
}
std::tuple<Tensor, Tensor, Tensor, Tensor> pointwise_attention_backward(
    Tensor const& dy, Tensor const& q, Tensor const& k, Tensor const& v, optional_tensor bias,
    std::string mask, std::string function, std::optional<double> scale, bool per_key,
    optional_tensor lengths, optional_tensor query_lengths, bool bias_gradient,
    optional_tensor allowed, optional_tensor segments) {
  torch_call call(q);
  bool const has_dbias = bias && bias_gradient;
  Tensor const dq = make_like(q), dk = make_like(k), dv = make_like(v),
               dbias = has_dbias ? make_like(*bias) : make_tensor(q, {0});
  optional_array const dbias_array =
      has_dbias ? optional_array(call(dbias, "dbias")) : std::nullopt;
  bindings::pointwise_attention_backward(
      call,
      {mask, function, scale, per_key, call(lengths, "lengths"),
       call(query_lengths, "query_lengths"), call(allowed, "allowed"), call(segments, "segments")},
      call(dy, "dy"), {call(q, "q"), call(k, "k"), call(v, "v"), call(bias, "bias")},
      {call(dq, "dq"), call(dk, "dk"), call(dv, "dv"), dbias_array});
  return {dq, dk, dv, dbias};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "pointwise_attention(Tensor q, Tensor k, Tensor v, Tensor? bias=None, str mask=\"full\", "
      "str function=\"laplace\", float? scale=None, bool per_key=False, Tensor? lengths=None, "
      "Tensor? query_lengths=None, Tensor? allowed=None, Tensor? segments=None) -> Tensor");
  m.def(
      "pointwise_attention_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor? bias, "
      "str mask, str function, float? scale, bool per_key, Tensor? lengths, Tensor? query_lengths, "
      "bool bias_gradient, Tensor? allowed=None, Tensor? segments=None) -> "
      "(Tensor dq, Tensor dk, Tensor dv, Tensor dbias)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("pointwise_attention", boxed<&pointwise_attention>);
  m.impl("pointwise_attention_backward", boxed<&pointwise_attention_backward>);
}

}  // namespace adapter
