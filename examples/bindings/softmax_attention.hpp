// SPDX-License-Identifier: Apache-2.0
// softmax_attention and merge_attention with element type, tensor rank and policies chosen at run
// time.
#pragma once

#include "attention.hpp"

#include <slicesort/merge_attention.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bindings {

/// Arguments of attention besides its tensors.
struct attention_arguments {
  std::string mask;
  std::optional<double> scale;
  optional_array lengths, query_lengths;
  double dropout;
  index_t seed;
  optional_array allowed{}, segments{};  // booleans per pair; offsets of packed samples

  /// Returns the operator for keys of shape `[batch, heads, keys, channels]`.
  ss::softmax_attention<named_mask> op(array const& k) const {
    return ss::softmax_attention<named_mask>(mask_of(mask, k, allowed, segments), scale);
  }
  auto valid_lengths() const { return ss::lengths(lengths_of(lengths), lengths_of(query_lengths)); }
  ss::dropout dropout_options() const { return {dropout, static_cast<std::uint64_t>(seed)}; }
};

namespace detail {
inline constexpr char const* softmax_state_axes = "[batch, heads, queries, 2]";
}

/// `state` is `[batch, heads, queries, 2]`, of the accumulator's type. It is optional.
template <class Call>
void softmax_attention(Call& call, attention_arguments const& arguments,
                       attention_arrays const& arrays, array const& y,
                       optional_array const& state) {
  auto const op = arguments.op(arrays.k);
  with_element(arrays.q, [&](auto element) {
    using T = decltype(element);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const inputs = detail::inputs<T>(arrays);
    auto const out = view4<T>(y, detail::output_axes);
    ss::attention_options const options{arguments.valid_lengths(), arguments.dropout_options()};
    if (state)
      op.forward(call.exec, inputs, out, view4<A>(*state, detail::softmax_state_axes), call.memory,
                 options);
    else
      op.forward(call.exec, inputs, out, ss::no_saved, call.memory, options);
  });
}
/// Computes `grads`. Skips the bias gradient if its array is missing.
template <class Call>
void softmax_attention_backward(Call& call, attention_arguments const& arguments, array const& dy,
                                attention_arrays const& arrays, array const& y, array const& state,
                                attention_arrays const& grads) {
  auto const op = arguments.op(arrays.k);
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    using A = typename ss::dtype_traits<T>::accumulator;
    auto const inputs = detail::inputs<T>(arrays);
    op.backward(call.exec, view4<T const>(dy, detail::output_axes), inputs,
                view4<T const>(y, detail::output_axes),
                view4<A const>(state, detail::softmax_state_axes), detail::gradients<T>(grads),
                call.memory, {arguments.valid_lengths(), arguments.dropout_options()});
  });
}

/// Merges the results of attention over several sets of keys; set i has `ys[i]` and `states[i]`.
template <class Call>
void merge_attention(Call& call, std::vector<array> const& ys, std::vector<array> const& states,
                     array const& y, array const& state) {
  if (ys.size() != states.size())
    throw_invalid("merge_attention: there must be as many states as ys");
  ss::merge_attention const op;
  with_element(y, [&](auto element) {
    using T = decltype(element);
    using A = typename ss::dtype_traits<T>::accumulator;
    std::vector<ss::attention_part<T>> parts;
    for (std::size_t i = 0; i < ys.size(); ++i)
      parts.push_back({view4<T const>(ys[i], detail::output_axes),
                       view4<A const>(states[i], detail::softmax_state_axes)});
    op.forward(call.exec, parts, view4<T>(y, detail::output_axes),
               view4<A>(state, detail::softmax_state_axes), call.memory);
  });
}

}  // namespace bindings
