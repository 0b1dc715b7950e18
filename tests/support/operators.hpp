// SPDX-License-Identifier: Apache-2.0
// The operators that the test backends are compiled for: their one list, a line for each.
#pragma once

#include "pattern_mask.hpp"
#include "pattern_order.hpp"

#include <slicesort/slicesort.hpp>

namespace ops = slicesort::detail;

// instantiate(operator, T) for each. Orders are decided at run time.
// clang-format off
#define SLICESORT_TEST_OPERATORS(instantiate, T) \
  instantiate(ops::slicing_sort_op<support::pattern_order>, T) \
  instantiate(ops::multi_permutation_op<support::pattern_order>, T) \
  instantiate(ops::max_exchange_op, T) \
  instantiate(ops::csp_op<false>, T) \
  instantiate(ops::csp_op<true>, T) \
  instantiate(ops::shuffle_op<slicesort::shared_by_channels>, T) \
  instantiate(ops::shuffle_op<slicesort::per_channel>, T) \
  instantiate(ops::sinkhorn_csp_op, T) \
  instantiate(ops::sparse_mix_op, T) \
  instantiate(ops::streaming_attention_op<support::pattern_mask>, T) \
  instantiate(ops::streaming_attention_op<support::range_mask>, T) \
  instantiate(ops::materialized_attention_op<support::pattern_mask>, T) \
  instantiate(ops::materialized_attention_op<support::range_mask>, T)
// clang-format on
