// SPDX-License-Identifier: Apache-2.0
// Operators of slicesort.h that mix rows without attention. Included by slicesort.cpp.
#include "../csp.hpp"
#include "../decaying_sum.hpp"
#include "../short_convolution.hpp"
#include "../sinkhorn.hpp"
#include "../sparse_mix.hpp"

namespace {

bindings::csp_policies policies_of(slicesort_csp_options const* options) {
  auto const& [groups, shift, alignment] = required(options);
  return {policy(groups, ""), policy(shift, "none"), policy(alignment, "reference")};
}
bindings::sinkhorn_policies policies_of(slicesort_sinkhorn_csp_options const* options) {
  auto const& [groups, shift, tau, iterations, reference] = required(options);
  return {policy(groups, ""), policy(shift, "none"), tau, iterations, reference};
}
bindings::sinkhorn_parameters parameters_of(slicesort_sinkhorn_options const* options) {
  auto const& [tau, half_steps, rows_last] = required(options);
  return {tau, half_steps, rows_last != 0};
}
bindings::mix_policies policies_of(slicesort_sparse_mix_options const* options) {
  slicesort_sparse_mix_options const defaults{};
  auto const& [topology, residual, every] = options != nullptr ? *options : defaults;
  return {policy(topology, "chord"), policy(residual, "per_factor"), every == 0 ? 1 : every};
}
bindings::decaying_sum_parameters parameters_of(slicesort_decaying_sum_options const* options) {
  slicesort_decaying_sum_options const defaults{};
  auto const& [is_complex, direction] = options != nullptr ? *options : defaults;
  return {is_complex != 0, policy(direction, "forward")};
}

}  // namespace

slicesort_status slicesort_csp(slicesort_exec exec, slicesort_csp_options const* options,
                               slicesort_input x, slicesort_output y, slicesort_output order,
                               slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::csp(call, policies_of(options), TENSOR(x), TENSOR(y), OPTIONAL_TENSOR(order),
                  OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_csp_backward(slicesort_exec exec, slicesort_csp_options const* options,
                                        slicesort_input dy, slicesort_input order,
                                        slicesort_output dx, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::csp_backward(call, policies_of(options), TENSOR(dy), TENSOR(order), TENSOR(dx),
                           OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_csp_state(slicesort_csp_options const* options, int64_t const x_shape[3],
                                     int64_t state_shape[3], int32_t* state_dtype) {
  return c_interface::catch_errors([&] {
    auto const [extents, type] =
        bindings::saved_csp_state(policies_of(options), {x_shape[0], x_shape[1], x_shape[2]});
    state_shape[0] = extents.batch;
    state_shape[1] = extents.length;
    state_shape[2] = extents.channels;
    *state_dtype = type == bindings::dtype::u8    ? SLICESORT_UINT8
                   : type == bindings::dtype::u16 ? SLICESORT_UINT16
                                                  : SLICESORT_INT32;
  });
}

slicesort_status slicesort_sinkhorn_csp(slicesort_exec exec,
                                        slicesort_sinkhorn_csp_options const* options,
                                        slicesort_input x, slicesort_output y,
                                        slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::sinkhorn_csp(call, policies_of(options), TENSOR(x), TENSOR(y),
                           OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_sinkhorn_csp_backward(slicesort_exec exec,
                                                 slicesort_sinkhorn_csp_options const* options,
                                                 slicesort_input dy, slicesort_input x,
                                                 slicesort_output dx, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::sinkhorn_csp_backward(call, policies_of(options), TENSOR(dy), TENSOR(x), TENSOR(dx),
                                    OPTIONAL_TENSOR(lengths));
  });
}

slicesort_status slicesort_sinkhorn(slicesort_exec exec, slicesort_sinkhorn_options const* options,
                                    slicesort_input logits, slicesort_output y,
                                    slicesort_input row_lengths, slicesort_input column_lengths) {
  return run(exec, [&](auto& call) {
    bindings::sinkhorn(call, parameters_of(options), TENSOR(logits), TENSOR(y),
                       OPTIONAL_TENSOR(row_lengths), OPTIONAL_TENSOR(column_lengths));
  });
}
slicesort_status slicesort_sinkhorn_backward(slicesort_exec exec,
                                             slicesort_sinkhorn_options const* options,
                                             slicesort_input dy, slicesort_input logits,
                                             slicesort_output dlogits, slicesort_input row_lengths,
                                             slicesort_input column_lengths) {
  return run(exec, [&](auto& call) {
    bindings::sinkhorn_backward(call, parameters_of(options), TENSOR(dy), TENSOR(logits),
                                TENSOR(dlogits), OPTIONAL_TENSOR(row_lengths),
                                OPTIONAL_TENSOR(column_lengths));
  });
}

slicesort_status slicesort_sparse_mix(slicesort_exec exec,
                                      slicesort_sparse_mix_options const* options,
                                      slicesort_input x, slicesort_input w, slicesort_output y,
                                      slicesort_output states, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::sparse_mix(call, policies_of(options), TENSOR(x), TENSOR(w), TENSOR(y),
                         OPTIONAL_TENSOR(states), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_sparse_mix_backward(slicesort_exec exec,
                                               slicesort_sparse_mix_options const* options,
                                               slicesort_input dy, slicesort_input x,
                                               slicesort_input w, slicesort_input states,
                                               slicesort_output dx, slicesort_output dw,
                                               slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::sparse_mix_backward(call, policies_of(options), TENSOR(dy), TENSOR(x), TENSOR(w),
                                  TENSOR(states), TENSOR(dx), TENSOR(dw), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_sparse_mix_states(slicesort_sparse_mix_options const* options,
                                             int64_t factors, int64_t* states) {
  return c_interface::catch_errors([&] {
    *states = slicesort::checkpoints{policies_of(options).checkpoint_every}.states(factors);
  });
}

slicesort_status slicesort_short_convolution(slicesort_exec exec, int64_t shift, slicesort_input x,
                                             slicesort_input weights, slicesort_output y,
                                             slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::short_convolution(call, shift, TENSOR(x), TENSOR(weights), TENSOR(y),
                                OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_short_convolution_backward(slicesort_exec exec, int64_t shift,
                                                      slicesort_input dy, slicesort_input x,
                                                      slicesort_input weights, slicesort_output dx,
                                                      slicesort_output dweights,
                                                      slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::short_convolution_backward(call, shift, TENSOR(dy), TENSOR(x), TENSOR(weights),
                                         TENSOR(dx), TENSOR(dweights), OPTIONAL_TENSOR(lengths));
  });
}

slicesort_status slicesort_decaying_sum(slicesort_exec exec,
                                        slicesort_decaying_sum_options const* options,
                                        slicesort_input x, slicesort_input a, slicesort_input w,
                                        slicesort_input initial, slicesort_output y,
                                        slicesort_output last, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::decaying_sum(
        call, parameters_of(options),
        {TENSOR(x), TENSOR(a), TENSOR(w), TENSOR(initial), OPTIONAL_TENSOR(lengths)}, TENSOR(y),
        TENSOR(last));
  });
}
slicesort_status slicesort_decaying_sum_backward(
    slicesort_exec exec, slicesort_decaying_sum_options const* options, slicesort_input dy,
    slicesort_input dlast, slicesort_input x, slicesort_input a, slicesort_input w,
    slicesort_input initial, slicesort_output dx, slicesort_output da, slicesort_output dw,
    slicesort_output dinitial, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::decaying_sum_backward(
        call, parameters_of(options), TENSOR(dy), TENSOR(dlast),
        {TENSOR(x), TENSOR(a), TENSOR(w), TENSOR(initial), OPTIONAL_TENSOR(lengths)},
        {TENSOR(dx), TENSOR(da), TENSOR(dw), TENSOR(dinitial)});
  });
}
