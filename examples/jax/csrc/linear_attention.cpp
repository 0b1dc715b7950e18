// SPDX-License-Identifier: Apache-2.0
#include "../../bindings/linear_attention.hpp"

#include "handler.hpp"

namespace slicesort_jax {
namespace {

bindings::linear_attention_arguments arguments_of(call& here, attributes const& with,
                                                  in const& lengths, in const& query_lengths) {
  return {with.text("feature"), with.text("divisor"), with.text("direction"),
          here.lengths("lengths", lengths), here.lengths("query_lengths", query_lengths)};
}

ffi::Error attend(place at, in q, in k, in v, in w, in lengths, in query_lengths, out y,
                  attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::linear_attention(
        here, arguments_of(here, with, lengths, query_lengths),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("w", w)},
        to_array("y", y));
  });
}
ffi::Error attend_back(place at, in dy, in q, in k, in v, in w, in lengths, in query_lengths,
                       out dq, out dk, out dv, out dw, attributes with) {
  return run(std::move(at), [&](call& here) {
    bindings::linear_attention_backward(
        here, arguments_of(here, with, lengths, query_lengths), to_array("dy", dy),
        {to_array("q", q), to_array("k", k), to_array("v", v), to_optional("w", w)},
        {to_array("dq", dq), to_array("dk", dk), to_array("dv", dv), to_optional("dw", dw)});
  });
}

}  // namespace
}  // namespace slicesort_jax

SLICESORT_JAX_HANDLER(linear_attention, 6, 1, slicesort_jax::attend);
SLICESORT_JAX_HANDLER(linear_attention_back, 7, 4, slicesort_jax::attend_back);
