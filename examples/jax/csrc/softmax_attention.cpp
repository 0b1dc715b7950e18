// SPDX-License-Identifier: Apache-2.0
// softmax_attention and merge_attention as XLA handlers.
#include "../../bindings/softmax_attention.hpp"

#include "handler.hpp"

#include <string>
#include <vector>

namespace slicesort_jax {
namespace {

bindings::attention_arguments arguments_of(xla_call& call, attributes const& attrs,
                                           input const& lengths, input const& query_lengths,
                                           input const& seed, input const& allowed,
                                           input const& segments) {
  bindings::attention_arguments arguments;
  arguments.mask = attrs.text("mask");
  if (attrs.has("scale")) arguments.scale = attrs.real("scale");
  arguments.lengths = call.lengths("lengths", lengths);
  arguments.query_lengths = call.lengths("query_lengths", query_lengths);
  arguments.dropout = attrs.real("dropout");
  arguments.seed = arguments.dropout == 0 ? 0 : call.seed(seed);  // synchronizes on a GPU
  arguments.allowed = to_optional("allowed", allowed);
  arguments.segments = call.lengths("segments", segments);
  return arguments;
}

ffi::Error softmax_attention(xla_context context, input q, input k, input v, input bias,
                             input lengths, input query_lengths, input seed, input allowed,
                             input segments, output y, output state, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::softmax_attention(
        call, arguments_of(call, attrs, lengths, query_lengths, seed, allowed, segments),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("bias", bias)},
        to_array("y", y), to_optional("state", state));
  });
}
ffi::Error softmax_attention_backward(xla_context context, input dy, input q, input k, input v,
                                      input bias, input y, input state, input lengths,
                                      input query_lengths, input seed, input allowed,
                                      input segments, output dq, output dk, output dv, output dbias,
                                      attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::softmax_attention_backward(
        call, arguments_of(call, attrs, lengths, query_lengths, seed, allowed, segments),
        to_array("dy", dy),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("bias", bias)},
        to_array("y", y), to_array("state", state),
        {to_array("dq", dq), to_array("dk", dk), to_array("dv", dv), to_optional("dbias", dbias)});
  });
}

// `parts` contains all ys, followed by all states.
ffi::Error merge_attention(xla_context context, ffi::RemainingArgs parts, output y, output state) {
  return run(std::move(context), [&](xla_call& call) {
    std::vector<array> ys, states;
    std::size_t const part_count = parts.size() / 2;
    for (std::size_t i = 0; i < 2 * part_count; ++i) {
      auto& list = i < part_count ? ys : states;
      list.push_back(
          to_array(i < part_count ? "y" : "state", parts.get<ffi::AnyBuffer>(i).value()));
    }
    bindings::merge_attention(call, ys, states, to_array("y", y), to_array("state", state));
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(softmax_attention, 9, 2);
SLICESORT_JAX_HANDLER(softmax_attention_backward, 12, 4);

extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* slicesort_merge_attention(
    XLA_FFI_CallFrame*);
XLA_FFI_DEFINE_HANDLER_SYMBOL(slicesort_merge_attention, slicesort_jax::merge_attention,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<slicesort_jax::xla_context>()
                                  .RemainingArgs()
                                  .Ret<xla::ffi::AnyBuffer>()
                                  .Ret<xla::ffi::AnyBuffer>());
