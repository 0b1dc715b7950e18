// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/softmax_attention.hpp"

#include "handler.hpp"

#include <string>
#include <vector>

namespace slicesort_jax {
namespace {

bindings::attention_arguments arguments_of(call& here, attributes const& with, in const& lengths,
                                           in const& query_lengths, in const& seed) {
  bindings::attention_arguments a;
  a.mask = with.text("mask");
  if (with.has("scale")) a.scale = with.real("scale");
  a.lengths = here.lengths("lengths", lengths);
  a.query_lengths = here.lengths("query_lengths", query_lengths);
  a.dropout = with.real("dropout");
  a.seed = a.dropout == 0 ? 0 : here.seed(seed);  // on a GPU it costs a wait
  return a;
}

ffi::Error attend(place at, in q, in k, in v, in bias, in lengths, in query_lengths, in seed, out y,
                  out state, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::softmax_attention(
        here, arguments_of(here, with, lengths, query_lengths, seed),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("bias", bias)},
        to_array("y", y), to_optional("state", state));
  });
}
ffi::Error attend_back(place at, in dy, in q, in k, in v, in bias, in y, in state, in lengths,
                       in query_lengths, in seed, out dq, out dk, out dv, out dbias,
                       attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::softmax_attention_backward(
        here, arguments_of(here, with, lengths, query_lengths, seed), to_array("dy", dy),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("bias", bias)},
        to_array("y", y), to_array("state", state),
        {to_array("dq", dq), to_array("dk", dk), to_array("dv", dv), to_optional("dbias", dbias)});
  });
}

/// The inputs are all ys, then all states.
ffi::Error merge(place at, ffi::RemainingArgs parts, out y, out state) {
  return run(std::move(at), [&](call& here) {
    std::vector<array> ys, states;
    std::size_t const count = parts.size() / 2;
    for (std::size_t i = 0; i < 2 * count; ++i) {
      auto& list = i < count ? ys : states;
      list.push_back(to_array(i < count ? "y" : "state", parts.get<ffi::AnyBuffer>(i).value()));
    }
    bindings::merge_attention(here, ys, states, to_array("y", y), to_array("state", state));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(softmax_attention, 7, 2, slicesort_jax::attend);
SLICESORT_JAX_HANDLER(softmax_attention_back, 10, 4, slicesort_jax::attend_back);

extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* slicesort_merge_attention(
    XLA_FFI_CallFrame*);
XLA_FFI_DEFINE_HANDLER_SYMBOL(slicesort_merge_attention, slicesort_jax::merge,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<slicesort_jax::place>()
                                  .RemainingArgs()
                                  .Ret<xla::ffi::AnyBuffer>()
                                  .Ret<xla::ffi::AnyBuffer>());
