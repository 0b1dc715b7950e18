// SPDX-License-Identifier: Apache-2.0
// Checks and calls of operators with scores per pair.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/bias.hpp>
#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/attention/pair_check.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Types of braced arguments in a call whose y or dy has type Y.
template <class Y>
using element_of_heads = typename view_of_heads_t<Y>::value_type;
template <class Y>
using attention_inputs_of = attention_inputs<element_of_heads<Y>>;
template <class Y>
using attention_gradients_of = attention_gradients<element_of_heads<Y>>;

// Shapes of q, v and dbias, and the rules for them.
struct attention_extents {
  extents4 q, v, dbias;

  attention_shape shape() const { return {q, v, dbias}; }

  template <class View, std::size_t Count>
  static attention_extents from_views(View const (&inputs)[Count],
                                      attention_gradients_of<View> const& grads) {
    static_assert(Count == 3 || Count == 4, "slicesort: these are {q, k, v} or {q, k, v, bias}.");
    return {view_of_heads_t<View>(inputs[0]).extents(), view_of_heads_t<View>(inputs[2]).extents(),
            grads.dbias.extents()};
  }
};

// Bytes of workspace; check_policies(checker) checks the operator's own policies.
template <class Op, class T, class Exec, class Mask, class Rules>
outcome_size<Exec> attention_workspace_bytes(Exec const& exec, char const* name,
                                             attention_extents const& extents, Mask const& mask,
                                             double scale, Rules const& check_policies) {
  require_dtype<T>();
  return workspace_bytes<Op, T>(exec, name, extents.shape(), [&](checker& c) {
    auto const& [q, v, dbias] = extents;
    check_attention_shapes<accumulator_t<T>>(c, q, v, dbias, scale);
    if (c.ok()) check_policies(c);
    if (c.ok()) check_mask(c, mask, {v.length, q.length, false, q.batch, q.heads});
  });
}

// Checks the inputs, then the other tensors by rules(checker, inputs), the operator's own policies
// by check_policies(checker, inputs), and the mask. Views the bias per pair.
template <class Params, class Rules, class PolicyRules>
void check_attention_call(checker& c, Params& params, Rules const& rules,
                          PolicyRules const& check_policies) {
  auto const inputs = info_of(params.in);
  check_attention<accumulator_t<typename Params::element>>(c, inputs, params.scale, params.lengths);
  rules(c, inputs);
  if (c.ok()) check_policies(c, inputs);
  if (c.ok())
    check_mask(c, params.mask,
               {inputs.v.shape.length, inputs.q.shape.length, params.lengths.keys.data() != nullptr,
                inputs.q.shape.batch, inputs.q.shape.heads});
  if (c.ok()) params.in.bias = pair_bias(params.in);
}

SLICESORT_DETAIL_END
