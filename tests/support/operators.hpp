// SPDX-License-Identifier: Apache-2.0
// The operators that the test backends are compiled for: their one list, a line for each.
#pragma once

#include "pattern_order.hpp"

#include <slicesort/detail/arena.hpp>
#include <slicesort/detail/block/grid.hpp>
#include <slicesort/slicesort.hpp>

#include <type_traits>
#include <utility>

// instantiate(operator, problem of its forward, problem of its backward) for elements T, where the
// names of slicesort::detail are visible. Orders are decided at run time.
// clang-format off
#define SLICESORT_TEST_OPERATORS(instantiate, T) \
  instantiate(slicing_sort_op<pattern_order>, slicing_sort_forward<pattern_order, T>, slicing_sort_backward<T>) \
  instantiate(multi_permutation_op<pattern_order>, multi_permutation_forward<pattern_order, T>, multi_permutation_backward<T>) \
  instantiate(max_exchange_op, max_exchange_forward<T>, max_exchange_backward<T>) \
  instantiate(csp_op<false>, csp_forward<T>, csp_backward<T>) \
  instantiate(csp_op<true>, csp_forward<T>, csp_backward<T>) \
  instantiate(shuffle_op<shared_by_channels>, shuffle_forward<T>, shuffle_backward<T>) \
  instantiate(shuffle_op<per_channel>, shuffle_forward<T>, shuffle_backward<T>) \
  instantiate(sinkhorn_csp_op, sinkhorn_csp_forward<T>, sinkhorn_csp_backward<T>) \
  instantiate(sparse_mix_op, sparse_mix_forward<T>, sparse_mix_backward<T>)
// clang-format on

namespace support {

// A line of the list.
template <class Op, class Forward, class Backward>
struct calls_of {
  using op = Op;
  using forward = Forward;
  using backward = Backward;
};

// Whether an operator's workspace depends on a number besides the shape.
template <class Op, class T, class Grid, class = void>
inline constexpr bool plans_terms = false;
template <class Op, class T, class Grid>
inline constexpr bool
    plans_terms<Op, T, Grid,
                std::void_t<decltype(slicesort::impl::grid_implementation<Op>::template plan<T>(
                    std::declval<Grid const&>(), slicesort::extents3{}, slicesort::index_t{},
                    std::declval<slicesort::detail::arena&>()))>> = true;

}  // namespace support
