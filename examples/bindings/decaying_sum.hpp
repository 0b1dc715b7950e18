// SPDX-License-Identifier: Apache-2.0
// decaying_sum with run-time types.
#pragma once

#include "policies/policy.hpp"

#include <slicesort/decaying_sum.hpp>

#include <string>

namespace bindings {

/// Parameters of decaying_sum; the number of states is that of the tensors. `direction` is
/// `forward`, `reverse` or `both`.
struct decaying_sum_parameters {
  bool is_complex;
  std::string direction;

  ss::decaying_sum op(index_t numbers) const {
    policy const choice("direction", direction, {{"forward"}, {"reverse"}, {"both"}});
    bool const is_both = choice.alternative() == 2;
    index_t const numbers_per_state = (is_complex ? 2 : 1) * (is_both ? 2 : 1);
    if (numbers % numbers_per_state != 0)
      throw_invalid("a must have a multiple of " + std::to_string(numbers_per_state) +
                    " numbers, has " + std::to_string(numbers));
    return ss::decaying_sum(numbers / numbers_per_state,
                            is_complex ? ss::decay_numbers::complex : ss::decay_numbers::real,
                            is_both                     ? ss::decay_direction::both
                            : choice.alternative() == 1 ? ss::decay_direction::reverse
                                                        : ss::decay_direction::forward);
  }
};

/// a and w are `[numbers, channels]`, or a per row `[batch, numbers, length, channels]`; states are
/// `[batch, numbers, channels]`.
struct decaying_sum_arrays {
  array x, a, w, initial;
  optional_array lengths;
};

namespace detail {

/// Views numbers, with or without batch and length, as the operator's tensor of rank 4.
template <class T>
ss::tensor4<T> numbers(array const& tensor) {
  auto const& e = tensor.extents;
  auto const& s = tensor.strides;
  if (tensor.rank == 2) return {elements<T>(tensor), {1, e[0], 1, e[1]}, {0, s[0], 0, s[1]}};
  return view4<T>(tensor, "[numbers, channels] or [batch, numbers, length, channels]");
}
template <class T>
ss::tensor4<T> states(array const& tensor) {
  return state_view<T>(tensor, "[batch, numbers, channels]");
}

}  // namespace detail

template <class Call>
void decaying_sum(Call& call, decaying_sum_parameters const& parameters,
                  decaying_sum_arrays const& inputs, array const& y, array const& last) {
  with_element(inputs.x, [&](auto element) {
    using T = decltype(element);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const a = detail::numbers<T const>(inputs.a);
    parameters.op(a.extents().heads)
        .forward(call.exec, view3<T const>(inputs.x), {a, detail::numbers<T const>(inputs.w)},
                 view3<T>(y), {detail::states<A const>(inputs.initial), detail::states<A>(last)},
                 call.memory, lengths_of(inputs.lengths));
  });
}
/// Gradients of x, a, w and the initial states.
struct decaying_sum_gradients {
  array dx, da, dw, dinitial;
};
template <class Call>
void decaying_sum_backward(Call& call, decaying_sum_parameters const& parameters, array const& dy,
                           array const& dlast, decaying_sum_arrays const& inputs,
                           decaying_sum_gradients const& grads) {
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const a = detail::numbers<T const>(inputs.a);
    parameters.op(a.extents().heads)
        .backward(call.exec, view3<T const>(dy), view3<T const>(inputs.x),
                  {a, detail::numbers<T const>(inputs.w)},
                  {view3<T>(grads.dx), detail::numbers<T>(grads.da), detail::numbers<T>(grads.dw)},
                  {detail::states<A const>(inputs.initial), detail::states<A const>(dlast),
                   detail::states<A>(grads.dinitial)},
                  call.memory, lengths_of(inputs.lengths));
  });
}

}  // namespace bindings
