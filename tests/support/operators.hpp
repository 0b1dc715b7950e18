// SPDX-License-Identifier: Apache-2.0
// The operators that the test backends are compiled for: their one list, a line for each.
#pragma once

#include "pattern_mask.hpp"
#include "pattern_order.hpp"

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/slicesort.hpp>

#include <type_traits>
#include <utility>

namespace ops = slicesort::detail;

// instantiate(operator, problem of its forward, problem of its backward) for elements T. Orders are
// decided at run time.
// clang-format off
#define SLICESORT_TEST_OPERATORS(instantiate, T) \
  instantiate(ops::slicing_sort_op<support::pattern_order>, ops::slicing_sort_forward<support::pattern_order, T>, ops::slicing_sort_backward<T>) \
  instantiate(ops::multi_permutation_op<support::pattern_order>, ops::multi_permutation_forward<support::pattern_order, T>, ops::multi_permutation_backward<T>) \
  instantiate(ops::max_exchange_op, ops::max_exchange_forward<T>, ops::max_exchange_backward<T>) \
  instantiate(ops::csp_op<false>, ops::csp_forward<T>, ops::csp_backward<T>) \
  instantiate(ops::csp_op<true>, ops::csp_forward<T>, ops::csp_backward<T>) \
  instantiate(ops::shuffle_op<slicesort::shared_by_channels>, ops::shuffle_forward<T>, ops::shuffle_backward<T>) \
  instantiate(ops::shuffle_op<slicesort::per_channel>, ops::shuffle_forward<T>, ops::shuffle_backward<T>) \
  instantiate(ops::sinkhorn_csp_op, ops::sinkhorn_csp_forward<T>, ops::sinkhorn_csp_backward<T>) \
  instantiate(ops::sparse_mix_op, ops::sparse_mix_forward<T>, ops::sparse_mix_backward<T>) \
  instantiate(ops::streaming_attention_op<support::pattern_mask>, ops::attention_forward<support::pattern_mask, T, ops::accumulator_t<T>>, ops::attention_backward<support::pattern_mask, T, ops::accumulator_t<T>>) \
  instantiate(ops::streaming_attention_op<support::range_mask>, ops::attention_forward<support::range_mask, T, ops::accumulator_t<T>>, ops::attention_backward<support::range_mask, T, ops::accumulator_t<T>>) \
  instantiate(ops::materialized_attention_op<support::pattern_mask>, ops::attention_forward<support::pattern_mask, T, T>, ops::attention_backward<support::pattern_mask, T, T>) \
  instantiate(ops::materialized_attention_op<support::range_mask>, ops::attention_forward<support::range_mask, T, T>, ops::attention_backward<support::range_mask, T, T>)
// clang-format on

namespace support {

// A line of the list.
template <class Op, class Forward, class Backward>
struct calls_of {
  using op = Op;
  using forward = Forward;
  using backward = Backward;
};

// Whether an operator's workspace depends on `Size`.
template <class Op, class T, class Grid, class = void, class... Size>
inline constexpr bool plans_with_size = false;
template <class Op, class T, class Grid, class... Size>
inline constexpr bool
    plans_with_size<Op, T, Grid,
                    std::void_t<decltype(slicesort::impl::grid_implementation<Op>::template plan<T>(
                        std::declval<Grid const&>(), std::declval<Size>()...,
                        std::declval<slicesort::detail::arena&>()))>,
                    Size...> = true;
template <class Op, class T, class Grid, class... Size>
inline constexpr bool plans_with = plans_with_size<Op, T, Grid, void, Size...>;

}  // namespace support
