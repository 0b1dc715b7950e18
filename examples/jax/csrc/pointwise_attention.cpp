// SPDX-License-Identifier: Apache-2.0
// pointwise_attention as XLA handlers.
#include "../../bindings/pointwise_attention.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::pointwise_arguments arguments_of(xla_call& call, attributes const& attrs,
                                           input const& lengths, input const& query_lengths,
                                           input const& allowed, input const& segments) {
  bindings::pointwise_arguments arguments;
  arguments.mask = attrs.text("mask");
  arguments.function = attrs.text("function");
  if (attrs.has("scale")) arguments.scale = attrs.real("scale");
  arguments.per_key = attrs.integer("per_key") != 0;
  arguments.lengths = call.lengths("lengths", lengths);
  arguments.query_lengths = call.lengths("query_lengths", query_lengths);
  arguments.allowed = to_optional("allowed", allowed);
  arguments.segments = call.lengths("segments", segments);
  return arguments;
}

ffi::Error pointwise_attention(xla_context context, input q, input k, input v, input bias,
                               input lengths, input query_lengths, input allowed, input segments,
                               output y, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::pointwise_attention(
        call, arguments_of(call, attrs, lengths, query_lengths, allowed, segments),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("bias", bias)},
        to_array("y", y));
  });
}
ffi::Error pointwise_attention_backward(xla_context context, input dy, input q, input k, input v,
                                        input bias, input lengths, input query_lengths,
                                        input allowed, input segments, output dq, output dk,
                                        output dv, output dbias, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::pointwise_attention_backward(
        call, arguments_of(call, attrs, lengths, query_lengths, allowed, segments),
        to_array("dy", dy),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("bias", bias)},
        {to_array("dq", dq), to_array("dk", dk), to_array("dv", dv), to_optional("dbias", dbias)});
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(pointwise_attention, 8, 1);
SLICESORT_JAX_HANDLER(pointwise_attention_backward, 9, 4);
