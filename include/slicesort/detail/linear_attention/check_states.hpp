// SPDX-License-Identifier: Apache-2.0
// Argument checks of the states of linear_attention.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

SLICESORT_DETAIL_BEGIN

inline constexpr axis_names state_axes{"batch", "heads", "length", "elements"};

inline extents4 state_extents(extents4 q, extents4 v, feature_config const& feature) {
  auto const positive = [](index_t extent) { return amount(std::max<index_t>(extent, 0)); };
  constexpr index_t rows = linear_state_layout::max_rows;
  amount const features = positive(feature.count), values = positive(v.channels);
  amount const elements = amount(linear_state_layout::matrix) + features * (values + amount(1)) +
                          (features + values + amount(1)) * rows;
  constexpr std::uint64_t limit{std::numeric_limits<index_t>::max()};
  return {q.batch, v.heads, 1,
          static_cast<index_t>(std::min<std::uint64_t>(elements.value(), limit))};
}

// Checks that the direction and the feature map have states.
inline void check_state_support(checker& c, feature_kind kind, bool causal) {
  if (!causal)
    return c.fail(error_kind::argument,
                  "states must be left out unless the direction is causal: noncausal queries see "
                  "the keys of all pieces");
  if (kind == feature_kind::cosine_reweighted)
    c.fail(error_kind::argument,
           "states must be left out for cosine_reweighted: its features depend on the length of "
           "the whole sequence");
}

template <class T>
view_info check_state(checker& c, char const* name, tensor4<T> state, extents4 expected) {
  attention_view const view = describe(name, state, !std::is_const_v<T>, state_axes);
  if (is_omitted(state)) return view;
  c.view(view);
  auto const require = [&](char const* axis, index_t extent, index_t required) {
    if (extent != required)
      c.fail(error_kind::argument, "%s.%s is %lld, must be %lld", name, axis,
             static_cast<long long>(extent), static_cast<long long>(required));
  };
  require("batch", view.shape.batch, expected.batch);
  require("heads", view.shape.heads, expected.heads);
  require("length", view.shape.length, expected.length);
  require("elements", view.shape.channels, expected.channels);
  return view;
}

// Checks what calls with states require of the other arguments. Returns the shape of a state.
template <class Params>
extents4 check_call_with_states(checker& c, Params const& params) {
  check_state_support(c, params.feature.kind, params.causal);
  if (!have_same_elements(describe("lengths", params.lengths.keys, false),
                          describe("query_lengths", params.lengths.queries, false)))
    c.fail(error_kind::argument,
           "query_lengths must be the same view as lengths where a call has states");
  return state_extents(params.in.q.extents(), params.in.v.extents(), params.feature);
}

// Checks the states of forward, which writes y.
template <class Params>
void check_states(checker& c, Params const& params, attention_info const& inputs,
                  view_info const& y) {
  if (!params.has_states()) return;
  extents4 const expected = check_call_with_states(c, params);
  view_info const initial = check_state(c, "initial", params.states.initial, expected),
                  last = check_state(c, "last", params.states.last, expected);
  if (!c.ok()) return;
  c.no_overlap(y, initial);
  c.no_overlap(last, initial, true);
  c.no_overlap(last, y);
  inputs.for_each([&](view_info const& input) { c.no_overlap(last, input); });
}

// Checks the states of backward, which reads dy and writes `grads`.
template <class Params>
void check_state_gradients(checker& c, Params const& params, attention_info const& inputs,
                           attention_info const& grads, view_info const& dy) {
  if (!params.has_states()) return;
  extents4 const expected = check_call_with_states(c, params);
  view_info const initial = check_state(c, "initial", params.states.initial, expected),
                  dlast = check_state(c, "dlast", params.states.dlast, expected),
                  dinitial = check_state(c, "dinitial", params.states.dinitial, expected);
  if (!c.ok()) return;
  grads.for_each([&](view_info const& gradient) {
    for (view_info const* state : {&initial, &dlast, &dinitial}) c.no_overlap(gradient, *state);
  });
  c.no_overlap(dinitial, dlast, true);
  c.no_overlap(dinitial, initial);
  c.no_overlap(dinitial, dy);
  inputs.for_each([&](view_info const& input) { c.no_overlap(dinitial, input); });
}

SLICESORT_DETAIL_END
