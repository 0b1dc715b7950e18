// SPDX-License-Identifier: Apache-2.0
// softmax_attention and merge_attention as torch operators.
#include "../../bindings/softmax_attention.hpp"

#include "backend.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor> softmax_attention(Tensor const& q, Tensor const& k, Tensor const& v,
                                             optional_tensor bias, std::string mask,
                                             std::optional<double> scale, optional_tensor lengths,
                                             optional_tensor query_lengths, double dropout,
                                             int64_t seed, optional_tensor allowed,
                                             optional_tensor segments) {
  torch_call call(q);
  Tensor const y = make_output(q, v);
  Tensor const state =
      make_tensor(q, {extent(q, 0), extent(q, 1), extent(q, 2), 2}, accumulator_type(q));
  bindings::softmax_attention(
      call,
      {mask, scale, call(lengths, "lengths"), call(query_lengths, "query_lengths"), dropout, seed,
       call(allowed, "allowed"), call(segments, "segments")},
      {call(q, "q"), call(k, "k"), call(v, "v"), call(bias, "bias")}, call(y, "y"),
      call(state, "state"));
  return {y, state};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> softmax_attention_backward(
    Tensor const& dy, Tensor const& q, Tensor const& k, Tensor const& v, optional_tensor bias,
    Tensor const& y, Tensor const& state, std::string mask, std::optional<double> scale,
    optional_tensor lengths, optional_tensor query_lengths, double dropout, int64_t seed,
    bool bias_gradient, optional_tensor allowed, optional_tensor segments) {
  torch_call call(q);
  bool const has_dbias = bias && bias_gradient;
  Tensor const dq = make_like(q), dk = make_like(k), dv = make_like(v),
               dbias = has_dbias ? make_like(*bias) : make_tensor(q, {0});
  optional_array const dbias_array =
      has_dbias ? optional_array(call(dbias, "dbias")) : std::nullopt;
  bindings::softmax_attention_backward(
      call,
      {mask, scale, call(lengths, "lengths"), call(query_lengths, "query_lengths"), dropout, seed,
       call(allowed, "allowed"), call(segments, "segments")},
      call(dy, "dy"), {call(q, "q"), call(k, "k"), call(v, "v"), call(bias, "bias")}, call(y, "y"),
      call(state, "state"), {call(dq, "dq"), call(dk, "dk"), call(dv, "dv"), dbias_array});
  return {dq, dk, dv, dbias};
}

std::tuple<Tensor, Tensor> merge_attention(std::vector<Tensor> ys, std::vector<Tensor> states) {
  if (ys.empty()) bindings::throw_invalid("merge_attention: there must be at least one part");
  torch_call call(ys[0]);
  Tensor const y = make_like(ys[0]);
  Tensor const state =
      make_tensor(y, {extent(y, 0), extent(y, 1), extent(y, 2), 2}, accumulator_type(y));
  std::vector<array> y_arrays, state_arrays;
  for (Tensor const& part_y : ys) y_arrays.push_back(call(part_y, "ys"));
  for (Tensor const& part_state : states) state_arrays.push_back(call(part_state, "states"));
  bindings::merge_attention(call, y_arrays, state_arrays, call(y, "y"), call(state, "state"));
  return {y, state};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "softmax_attention(Tensor q, Tensor k, Tensor v, Tensor? bias=None, str mask=\"full\", "
      "float? scale=None, Tensor? lengths=None, Tensor? query_lengths=None, float dropout=0.0, "
      "int seed=0, Tensor? allowed=None, Tensor? segments=None) -> (Tensor y, Tensor state)");
  m.def(
      "softmax_attention_backward(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor? bias, "
      "Tensor y, Tensor state, str mask, float? scale, Tensor? lengths, Tensor? query_lengths, "
      "float dropout, int seed, bool bias_gradient, Tensor? allowed=None, Tensor? segments=None) -> "
      "(Tensor dq, Tensor dk, Tensor dv, Tensor dbias)");
  m.def("merge_attention(Tensor[] ys, Tensor[] states) -> (Tensor y, Tensor state)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("softmax_attention", boxed<&softmax_attention>);
  m.impl("softmax_attention_backward", boxed<&softmax_attention_backward>);
  m.impl("merge_attention", boxed<&merge_attention>);
}

}  // namespace adapter
