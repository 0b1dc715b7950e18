// SPDX-License-Identifier: Apache-2.0
// sparse_mix with element type, tensor rank and policies chosen at run time.
#pragma once

#include "policies/named_topology.hpp"

#include <slicesort/sparse_mix.hpp>

#include <string>

namespace bindings {

/// Policies of sparse_mix as text, and the interval of saved states (`slicesort::checkpoints`).
struct mix_policies {
  std::string topology, residual;
  index_t checkpoint_every;
};

namespace detail {

inline constexpr char const* weight_axes = "[factors, batch, length, links]";
inline constexpr char const* state_axes = "[states, batch, length, channels]";

template <class F>
void with_mix(mix_policies const& policies, F const& f) {
  named_topology const topology(policies.topology);
  ss::checkpoints const saved{policies.checkpoint_every};
  policy const residual("residual", policies.residual, {{"per_factor"}, {"none"}, {"initial"}});
  switch (residual.alternative()) {
    case 0:
      return f(ss::sparse_mix<named_topology, ss::residual::per_factor>(topology, saved));
    case 1:
      return f(ss::sparse_mix<named_topology, ss::residual::none>(topology, saved));
    default:
      return f(ss::sparse_mix<named_topology, ss::residual::initial>(topology, saved));
  }
}

}  // namespace detail

/// `states` are `[checkpoints.states(factors), batch, length, channels]`. They are optional.
template <class Call>
void sparse_mix(Call& call, mix_policies const& policies, array const& x, array const& w,
                array const& y, optional_array const& states, optional_array const& lengths) {
  detail::with_mix(policies, [&](auto const& op) {
    with_element(x, [&](auto element) {
      using T = decltype(element);
      auto const x_view = view3<T const>(x);
      auto const weights = view4<T const, ss::tensor_stack>(w, detail::weight_axes);
      ss::forward_options const options = lengths_of(lengths);
      if (states)
        op.forward(call.exec, x_view, weights, view3<T>(y),
                   view4<T, ss::tensor_stack>(*states, detail::state_axes), call.memory, options);
      else
        op.forward(call.exec, x_view, weights, view3<T>(y), ss::no_saved, call.memory, options);
    });
  });
}
/// Computes both gradients; `x` is forward's input.
template <class Call>
void sparse_mix_backward(Call& call, mix_policies const& policies, array const& dy, array const& x,
                         array const& w, array const& states, array const& dx, array const& dw,
                         optional_array const& lengths) {
  detail::with_mix(policies, [&](auto const& op) {
    with_element(dy, [&](auto element) {
      using T = decltype(element);
      auto const weights = view4<T const, ss::tensor_stack>(w, detail::weight_axes);
      auto const dy_view = view3<T const>(dy);
      op.backward(call.exec, dy_view, view3<T const>(x), weights,
                  view4<T const, ss::tensor_stack>(states, detail::state_axes), view3<T>(dx),
                  view4<T, ss::tensor_stack>(dw, detail::weight_axes), call.memory,
                  lengths_of(lengths));
    });
  });
}

}  // namespace bindings
