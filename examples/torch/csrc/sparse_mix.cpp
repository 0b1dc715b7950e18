// SPDX-License-Identifier: Apache-2.0
// sparse_mix as torch operators.
#include "../../bindings/sparse_mix.hpp"

#include "backend.hpp"

#include <cstdint>
#include <string>
#include <tuple>

namespace adapter {
namespace {

std::tuple<Tensor, Tensor> sparse_mix(Tensor const& x, Tensor const& w, std::string topology,
                                      std::string residual, int64_t checkpoint_every, bool save,
                                      optional_tensor lengths) {
  torch_call call(x);
  int64_t const count = save ? slicesort::checkpoints{checkpoint_every}.states(extent(w, 0)) : 0;
  Tensor const y = make_like(x),
               states = make_tensor(x, {count, extent(x, 0), extent(x, 1), extent(x, 2)});
  optional_array const saved = save ? optional_array(call(states, "states")) : std::nullopt;
  bindings::sparse_mix(call, {topology, residual, checkpoint_every}, call(x, "x"), call(w, "w"),
                       call(y, "y"), saved, call(lengths, "lengths"));
  return {y, states};
}
std::tuple<Tensor, Tensor> sparse_mix_backward(Tensor const& dy, Tensor const& x, Tensor const& w,
                                               Tensor const& states, std::string topology,
                                               std::string residual, int64_t checkpoint_every,
                                               optional_tensor lengths) {
  torch_call call(dy);
  Tensor const dx = make_like(x), dw = make_like(w);
  bindings::sparse_mix_backward(call, {topology, residual, checkpoint_every}, call(dy, "dy"),
                                call(x, "x"), call(w, "w"), call(states, "states"), call(dx, "dx"),
                                call(dw, "dw"), call(lengths, "lengths"));
  return {dx, dw};
}

}  // namespace

#ifndef __CUDACC__
STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def(
      "sparse_mix(Tensor x, Tensor w, str topology=\"chord\", str residual=\"per_factor\", "
      "int checkpoint_every=1, bool save=True, Tensor? lengths=None) -> "
      "(Tensor y, Tensor states)");
  m.def(
      "sparse_mix_backward(Tensor dy, Tensor x, Tensor w, Tensor states, str topology, "
      "str residual, int checkpoint_every, Tensor? lengths=None) -> (Tensor dx, Tensor dw)");
}
#endif
STABLE_TORCH_LIBRARY_IMPL(slicesort, SLICESORT_DISPATCH_KEY, m) {
  m.impl("sparse_mix", boxed<&sparse_mix>);
  m.impl("sparse_mix_backward", boxed<&sparse_mix_backward>);
}

}  // namespace adapter
