// SPDX-License-Identifier: Apache-2.0
// sinkhorn as torch operators.
#include "../../bindings/sinkhorn.hpp"

#include "backend.hpp"

#include <cstdint>

namespace adapter {
namespace {

Tensor sinkhorn(Tensor const& logits, double tau, std::int64_t half_steps, bool rows_last,
                optional_tensor lengths, optional_tensor column_lengths) {
  torch_call call(logits);
  Tensor const y = make_like(logits);
  bindings::sinkhorn(call, {tau, half_steps, rows_last}, call(logits, "logits"), call(y, "y"),
                     call(lengths, "lengths"), call(column_lengths, "column_lengths"));
  return y;
}
Tensor sinkhorn_backward(Tensor const& dy, Tensor const& logits, double tau,
                         std::int64_t half_steps, bool rows_last, optional_tensor lengths,
                         optional_tensor column_lengths) {
  torch_call call(dy);
  Tensor const dlogits = make_like(dy);
  bindings::sinkhorn_backward(call, {tau, half_steps, rows_last}, call(dy, "dy"),
                              call(logits, "logits"), call(dlogits, "dlogits"),
                              call(lengths, "lengths"), call(column_lengths, "column_lengths"));
  return dlogits;
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "sinkhorn(Tensor logits, float tau, int half_steps, bool rows_last=False, "
      "Tensor? lengths=None, Tensor? column_lengths=None) -> Tensor");
  m.def(
      "sinkhorn_backward(Tensor dy, Tensor logits, float tau, int half_steps, bool rows_last, "
      "Tensor? lengths=None, Tensor? column_lengths=None) -> Tensor");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("sinkhorn", boxed<&sinkhorn>);
  m.impl("sinkhorn_backward", boxed<&sinkhorn_backward>);
}

}  // namespace adapter
