// SPDX-License-Identifier: Apache-2.0
// linear_attention as XLA handlers.
#include "../../bindings/linear_attention.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::linear_attention_arguments arguments_of(xla_call& call, attributes const& attrs,
                                                  input const& lengths,
                                                  input const& query_lengths) {
  return {attrs.text("feature"), attrs.text("divisor"), attrs.text("direction"),
          call.lengths("lengths", lengths), call.lengths("query_lengths", query_lengths)};
}
// Keys and queries of causal pieces have the same lengths.
bindings::linear_attention_arguments arguments_with_state(xla_call& call, attributes const& attrs,
                                                          input const& lengths) {
  auto const valid = call.lengths("lengths", lengths);
  return {attrs.text("feature"), attrs.text("divisor"), "causal", valid, valid};
}

ffi::Error linear_attention(xla_context context, input q, input k, input v, input w, input lengths,
                            input query_lengths, output y, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::linear_attention(
        call, arguments_of(call, attrs, lengths, query_lengths),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("w", w)},
        to_array("y", y));
  });
}
ffi::Error linear_attention_backward(xla_context context, input dy, input q, input k, input v,
                                     input w, input lengths, input query_lengths, output dq,
                                     output dk, output dv, output dw, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::linear_attention_backward(
        call, arguments_of(call, attrs, lengths, query_lengths), to_array("dy", dy),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("w", w)},
        {to_array("dq", dq), to_array("dk", dk), to_array("dv", dv), to_optional("dw", dw)});
  });
}

ffi::Error linear_attention_with_state(xla_context context, input q, input k, input v,
                                       input initial, input w, input lengths, output y, output last,
                                       attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::linear_attention_with_state(
        call, arguments_with_state(call, attrs, lengths),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("w", w)},
        to_array("y", y), {to_array("initial", initial), to_array("last", last)});
  });
}
ffi::Error linear_attention_with_state_backward(xla_context context, input dy, input dlast, input q,
                                                input k, input v, input initial, input w,
                                                input lengths, output dq, output dk, output dv,
                                                output dinitial, output dw, attributes attrs) {
  return run(std::move(context), [&](xla_call& call) {
    bindings::linear_attention_with_state_backward(
        call, arguments_with_state(call, attrs, lengths), to_array("dy", dy),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("w", w)},
        {to_array("dq", dq), to_array("dk", dk), to_array("dv", dv), to_optional("dw", dw)},
        {to_array("initial", initial), to_array("dlast", dlast), to_array("dinitial", dinitial)});
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(linear_attention, 6, 1);
SLICESORT_JAX_HANDLER(linear_attention_backward, 7, 4);
SLICESORT_JAX_HANDLER(linear_attention_with_state, 6, 2);
SLICESORT_JAX_HANDLER(linear_attention_with_state_backward, 8, 5);
