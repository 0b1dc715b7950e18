// SPDX-License-Identifier: Apache-2.0
// Operators of slicesort.h that sort and permute rows. Included by slicesort.cpp.
#include "../max_exchange.hpp"
#include "../multi_permutation.hpp"
#include "../policies/check_policy.hpp"
#include "../shuffle.hpp"
#include "../slicing_sort.hpp"
#include "../soft_sort.hpp"
#include "../top_k.hpp"

slicesort_status slicesort_check_policy(char const* kind, char const* text, int64_t extent) {
  return c_interface::catch_errors(
      [&] { bindings::check_policy(policy(kind, ""), policy(text, ""), extent); });
}
slicesort_status slicesort_check_rows(slicesort_input perm, slicesort_input lengths) {
  return c_interface::catch_errors(
      [&] { bindings::require_rows(TENSOR(perm), OPTIONAL_TENSOR(lengths)); });
}

slicesort_status slicesort_slicing_sort(slicesort_exec exec, char const* order, slicesort_input x,
                                        slicesort_output y, slicesort_output perm,
                                        slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::slicing_sort(call, policy(order, "ascending"), TENSOR(x), TENSOR(y),
                           OPTIONAL_TENSOR(perm), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_slicing_sort_backward(slicesort_exec exec, slicesort_input dy,
                                                 slicesort_input perm, slicesort_output dx,
                                                 slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::slicing_sort_backward(call, TENSOR(dy), TENSOR(perm), TENSOR(dx),
                                    OPTIONAL_TENSOR(lengths));
  });
}

slicesort_status slicesort_permute(slicesort_exec exec, slicesort_input x, slicesort_input perm,
                                   slicesort_output y, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::permute(call, TENSOR(x), TENSOR(perm), TENSOR(y), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_permute_backward(slicesort_exec exec, slicesort_input dy,
                                            slicesort_input perm, slicesort_output dx,
                                            slicesort_input lengths) {
  return slicesort_slicing_sort_backward(exec, dy, perm, dx, lengths);
}

slicesort_status slicesort_argsort(slicesort_exec exec, char const* order, slicesort_input x,
                                   slicesort_output indices, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::argsort(call, policy(order, "ascending"), TENSOR(x), TENSOR(indices),
                      OPTIONAL_TENSOR(lengths));
  });
}

slicesort_status slicesort_top_k(slicesort_exec exec, slicesort_top_k_options const* options,
                                 slicesort_input x, slicesort_output values,
                                 slicesort_output indices, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    auto const& [k, order, by_index, nan_last] = required(options);
    bindings::top_k(call, k, policy(order, "descending"), by_index != 0, nan_last != 0, TENSOR(x),
                    TENSOR(values), TENSOR(indices), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_top_k_backward(slicesort_exec exec, slicesort_input dy,
                                          slicesort_input indices, slicesort_output dx) {
  return run(exec, [&](auto& call) {
    bindings::top_k_backward(call, TENSOR(dy), TENSOR(indices), TENSOR(dx));
  });
}

namespace {

bindings::soft_sort_settings settings_of(slicesort_soft_sort_options const* options) {
  auto const& [ranks, regularization, strength] = required(options);
  return {ranks != 0, policy(regularization, "l2"), strength};
}

}  // namespace

slicesort_status slicesort_soft_sort(slicesort_exec exec,
                                     slicesort_soft_sort_options const* options, slicesort_input x,
                                     slicesort_output y, slicesort_output perm,
                                     slicesort_output pools, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::soft_sort(call, settings_of(options), TENSOR(x), TENSOR(y), TENSOR(perm),
                        TENSOR(pools), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_soft_sort_backward(slicesort_exec exec,
                                              slicesort_soft_sort_options const* options,
                                              slicesort_input dy, slicesort_input x,
                                              slicesort_input perm, slicesort_input pools,
                                              slicesort_output dx, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::soft_sort_backward(call, settings_of(options), TENSOR(dy), TENSOR(x), TENSOR(perm),
                                 TENSOR(pools), TENSOR(dx), OPTIONAL_TENSOR(lengths));
  });
}

slicesort_status slicesort_multi_permutation(slicesort_exec exec, char const* order,
                                             slicesort_input x, slicesort_input weights,
                                             slicesort_output y, slicesort_output perm,
                                             slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::multi_permutation(call, policy(order, "ascending"), TENSOR(x), TENSOR(weights),
                                TENSOR(y), OPTIONAL_TENSOR(perm), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_multi_permutation_backward(slicesort_exec exec, slicesort_input dy,
                                                      slicesort_input x, slicesort_input weights,
                                                      slicesort_input perm, slicesort_output dx,
                                                      slicesort_output dweights,
                                                      slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::multi_permutation_backward(call, TENSOR(dy), TENSOR(x), TENSOR(weights), TENSOR(perm),
                                         TENSOR(dx), TENSOR(dweights), OPTIONAL_TENSOR(lengths));
  });
}

slicesort_status slicesort_max_exchange(slicesort_exec exec, int64_t row, slicesort_input x,
                                        slicesort_output y, slicesort_output maximum,
                                        slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::max_exchange(call, row, TENSOR(x), TENSOR(y), OPTIONAL_TENSOR(maximum),
                           OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_max_exchange_backward(slicesort_exec exec, int64_t row,
                                                 slicesort_input dy, slicesort_input maximum,
                                                 slicesort_output dx, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::max_exchange_backward(call, row, TENSOR(dy), TENSOR(maximum), TENSOR(dx),
                                    OPTIONAL_TENSOR(lengths));
  });
}

slicesort_status slicesort_shuffle(slicesort_exec exec, uint64_t seed, char const* form,
                                   slicesort_input x, slicesort_output y, slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::shuffle(call, static_cast<index_t>(seed), policy(form, "shared_by_channels"),
                      TENSOR(x), TENSOR(y), OPTIONAL_TENSOR(lengths));
  });
}
slicesort_status slicesort_shuffle_backward(slicesort_exec exec, uint64_t seed, char const* form,
                                            slicesort_input dy, slicesort_output dx,
                                            slicesort_input lengths) {
  return run(exec, [&](auto& call) {
    bindings::shuffle_backward(call, static_cast<index_t>(seed), policy(form, "shared_by_channels"),
                               TENSOR(dy), TENSOR(dx), OPTIONAL_TENSOR(lengths));
  });
}
