// SPDX-License-Identifier: Apache-2.0
// csp and sinkhorn_csp as torch operators.
#include "../../bindings/csp.hpp"

#include "backend.hpp"

#include <cstdint>
#include <string>
#include <tuple>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor> csp(Tensor const& x, std::string groups, std::string shift,
                               std::string alignment, optional_tensor lengths) {
  torch_call call(x);
  bindings::csp_policies const policies{groups, shift, alignment};
  bindings::csp_state const state =
      bindings::saved_csp_state(policies, {extent(x, 0), extent(x, 1), extent(x, 2)});
  auto const [batch, length, channels] = state.extents;
  Tensor const y = make_like(x),
               order = make_tensor(x, {batch, length, channels}, scalar_type_of(state.type));
  bindings::csp(call, policies, call(x, "x"), call(y, "y"), call(order, "order"),
                call(lengths, "lengths"));
  return {y, order};
}
Tensor csp_backward(Tensor const& dy, Tensor const& order, std::string groups, std::string shift,
                    std::string alignment, optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy);
  bindings::csp_backward(call, {groups, shift, alignment}, call(dy, "dy"), call(order, "order"),
                         call(dx, "dx"), call(lengths, "lengths"));
  return dx;
}

Tensor sinkhorn_csp(Tensor const& x, double tau, int64_t iterations, std::string groups,
                    std::string shift, int64_t reference, optional_tensor lengths) {
  torch_call call(x);
  Tensor const y = make_like(x);
  bindings::sinkhorn_csp(call, {groups, shift, tau, iterations, reference}, call(x, "x"),
                         call(y, "y"), call(lengths, "lengths"));
  return y;
}
Tensor sinkhorn_csp_backward(Tensor const& dy, Tensor const& x, double tau, int64_t iterations,
                             std::string groups, std::string shift, int64_t reference,
                             optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(dy);
  bindings::sinkhorn_csp_backward(call, {groups, shift, tau, iterations, reference}, call(dy, "dy"),
                                  call(x, "x"), call(dx, "dx"), call(lengths, "lengths"));
  return dx;
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "csp(Tensor x, str groups=\"group_size{2}\", str shift=\"linear\", "
      "str alignment=\"reference{0}\", Tensor? lengths=None) -> (Tensor y, Tensor order)");
  m.def(
      "csp_backward(Tensor dy, Tensor order, str groups, str shift, str alignment, "
      "Tensor? lengths=None) -> Tensor");
  m.def(
      "sinkhorn_csp(Tensor x, float tau, int iterations=10, str groups=\"group_size{2}\", "
      "str shift=\"linear\", int reference=0, Tensor? lengths=None) -> Tensor");
  m.def(
      "sinkhorn_csp_backward(Tensor dy, Tensor x, float tau, int iterations, str groups, "
      "str shift, int reference, Tensor? lengths=None) -> Tensor");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("csp", boxed<&csp>);
  m.impl("csp_backward", boxed<&csp_backward>);
  m.impl("sinkhorn_csp", boxed<&sinkhorn_csp>);
  m.impl("sinkhorn_csp_backward", boxed<&sinkhorn_csp_backward>);
}

}  // namespace adapter
