// SPDX-License-Identifier: Apache-2.0
// Attention operators of slicesort_attention.h. Included by slicesort.cpp.
#include "../linear_attention.hpp"
#include "../pointwise_attention.hpp"
#include "../softmax_attention.hpp"

#include <optional>
#include <vector>

namespace {

// Returns the options, or their defaults if they are null.
template <class Options>
Options const& options_or_default(Options const* options) {
  static constexpr Options defaults{};
  return options != nullptr ? *options : defaults;
}
std::optional<double> number_or_none(double const* number) {
  if (number == nullptr) return std::nullopt;
  return *number;
}

bindings::attention_arguments arguments_of(slicesort_softmax_attention_options const& options) {
  auto const& [mask, lengths, query_lengths, allowed, segments] = options.pairs;
  return {policy(mask, "full"),     number_or_none(options.scale),
          OPTIONAL_TENSOR(lengths), OPTIONAL_TENSOR(query_lengths),
          options.dropout,          static_cast<index_t>(options.seed),
          OPTIONAL_TENSOR(allowed), OPTIONAL_TENSOR(segments)};
}
bindings::pointwise_arguments arguments_of(slicesort_pointwise_attention_options const& options) {
  auto const& [mask, lengths, query_lengths, allowed, segments] = options.pairs;
  return {policy(mask, "full"),          policy(options.function, "laplace"),
          number_or_none(options.scale), options.per_key != 0,
          OPTIONAL_TENSOR(lengths),      OPTIONAL_TENSOR(query_lengths),
          OPTIONAL_TENSOR(allowed),      OPTIONAL_TENSOR(segments)};
}
bindings::linear_attention_arguments arguments_of(slicesort_linear_attention_options const& options,
                                                  char const* default_direction) {
  auto const& [feature, divisor, direction, w, lengths, query_lengths] = options;
  return {policy(feature, "elu_plus_one"), policy(divisor, "sum_plus"),
          policy(direction, default_direction), OPTIONAL_TENSOR(lengths),
          OPTIONAL_TENSOR(query_lengths)};
}

}  // namespace

slicesort_status slicesort_softmax_attention(slicesort_exec exec,
                                             slicesort_softmax_attention_options const* options,
                                             slicesort_input q, slicesort_input k,
                                             slicesort_input v, slicesort_output y,
                                             slicesort_output state) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::softmax_attention(
        call, arguments_of(settings),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("bias", settings.bias)},
        TENSOR(y), OPTIONAL_TENSOR(state));
  });
}
slicesort_status slicesort_softmax_attention_backward(
    slicesort_exec exec, slicesort_softmax_attention_options const* options, slicesort_input dy,
    slicesort_input q, slicesort_input k, slicesort_input v, slicesort_input y,
    slicesort_input state, slicesort_output dq, slicesort_output dk, slicesort_output dv,
    slicesort_output dbias) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::softmax_attention_backward(
        call, arguments_of(settings), TENSOR(dy),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("bias", settings.bias)},
        TENSOR(y), TENSOR(state), {TENSOR(dq), TENSOR(dk), TENSOR(dv), OPTIONAL_TENSOR(dbias)});
  });
}

slicesort_status slicesort_merge_attention(slicesort_exec exec, int64_t count,
                                           slicesort_tensor const* ys,
                                           slicesort_tensor const* states, slicesort_output y,
                                           slicesort_output state) {
  return run(exec, [&](auto& call) {
    if (count > 0 && (ys == nullptr || states == nullptr))
      bindings::throw_invalid("ys and states must not be null");
    std::vector<bindings::array> part_ys, part_states;
    for (int64_t i = 0; i < count; ++i) {
      part_ys.push_back(c_interface::tensor("ys", ys + i));
      part_states.push_back(c_interface::tensor("states", states + i));
    }
    bindings::merge_attention(call, part_ys, part_states, TENSOR(y), TENSOR(state));
  });
}

slicesort_status slicesort_pointwise_attention(slicesort_exec exec,
                                               slicesort_pointwise_attention_options const* options,
                                               slicesort_input q, slicesort_input k,
                                               slicesort_input v, slicesort_output y) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::pointwise_attention(
        call, arguments_of(settings),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("bias", settings.bias)},
        TENSOR(y));
  });
}
slicesort_status slicesort_pointwise_attention_backward(
    slicesort_exec exec, slicesort_pointwise_attention_options const* options, slicesort_input dy,
    slicesort_input q, slicesort_input k, slicesort_input v, slicesort_output dq,
    slicesort_output dk, slicesort_output dv, slicesort_output dbias) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::pointwise_attention_backward(
        call, arguments_of(settings), TENSOR(dy),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("bias", settings.bias)},
        {TENSOR(dq), TENSOR(dk), TENSOR(dv), OPTIONAL_TENSOR(dbias)});
  });
}

slicesort_status slicesort_linear_attention(slicesort_exec exec,
                                            slicesort_linear_attention_options const* options,
                                            slicesort_input q, slicesort_input k, slicesort_input v,
                                            slicesort_output y) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::linear_attention(
        call, arguments_of(settings, "noncausal"),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("w", settings.w)}, TENSOR(y));
  });
}
slicesort_status slicesort_linear_attention_backward(
    slicesort_exec exec, slicesort_linear_attention_options const* options, slicesort_input dy,
    slicesort_input q, slicesort_input k, slicesort_input v, slicesort_output dq,
    slicesort_output dk, slicesort_output dv, slicesort_output dw) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::linear_attention_backward(
        call, arguments_of(settings, "noncausal"), TENSOR(dy),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("w", settings.w)},
        {TENSOR(dq), TENSOR(dk), TENSOR(dv), OPTIONAL_TENSOR(dw)});
  });
}
slicesort_status slicesort_linear_attention_with_state(
    slicesort_exec exec, slicesort_linear_attention_options const* options, slicesort_input q,
    slicesort_input k, slicesort_input v, slicesort_input initial, slicesort_output y,
    slicesort_output last) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::linear_attention_with_state(
        call, arguments_of(settings, "causal"),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("w", settings.w)}, TENSOR(y),
        {TENSOR(initial), TENSOR(last)});
  });
}
slicesort_status slicesort_linear_attention_with_state_backward(
    slicesort_exec exec, slicesort_linear_attention_options const* options, slicesort_input dy,
    slicesort_input dlast, slicesort_input q, slicesort_input k, slicesort_input v,
    slicesort_input initial, slicesort_output dq, slicesort_output dk, slicesort_output dv,
    slicesort_output dw, slicesort_output dinitial) {
  return run(exec, [&](auto& call) {
    auto const& settings = options_or_default(options);
    bindings::linear_attention_with_state_backward(
        call, arguments_of(settings, "causal"), TENSOR(dy),
        {TENSOR(q), TENSOR(k), TENSOR(v), c_interface::tensor_or_none("w", settings.w)},
        {TENSOR(dq), TENSOR(dk), TENSOR(dv), OPTIONAL_TENSOR(dw)},
        {TENSOR(initial), TENSOR(dlast), TENSOR(dinitial)});
  });
}
slicesort_status slicesort_linear_attention_state(slicesort_linear_attention_options const* options,
                                                  slicesort_input q, slicesort_input v,
                                                  int64_t* elements) {
  return c_interface::catch_errors([&] {
    auto const& settings = options_or_default(options);
    *elements = bindings::linear_attention_state_elements(
        arguments_of(settings, "causal"), TENSOR(q), TENSOR(v),
        c_interface::tensor_or_none("w", settings.w));
  });
}
