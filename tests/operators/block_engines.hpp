// SPDX-License-Identifier: Apache-2.0
// Instantiations that several operators share on the block executor. Generated units (units.cmake)
// compile them once. Kernels of 16-bit elements do not depend on fast_double.
#pragma once

#include "compiled_once.hpp"
#include "support/block_backend.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/order.hpp>

#define SLICESORT_TEST_SORT_ON_BLOCKS(linkage, fast_double, T, Order)                            \
  linkage template void slicesort::detail::sort_columns(                                         \
      support::block_grid<fast_double> const&, slicesort::detail::columns_view<T, Order> const&, \
      slicesort::detail::sort_layout<T> const&);
#define SLICESORT_TEST_SORT_ON_ALL_BLOCKS(linkage, T, Order) \
  SLICESORT_TEST_SORT_ON_BLOCKS(linkage, false, T, Order)    \
  SLICESORT_TEST_SORT_ON_BLOCKS(linkage, true, T, Order)
// clang-format off
#define SLICESORT_TEST_BLOCK_ENGINES_float(linkage) \
  SLICESORT_TEST_SORT_ON_ALL_BLOCKS(linkage, float, support::pattern_order)
#define SLICESORT_TEST_BLOCK_ENGINES_double(linkage) \
  SLICESORT_TEST_SORT_ON_ALL_BLOCKS(linkage, double, support::pattern_order)
#define SLICESORT_TEST_BLOCK_ENGINES_float16(linkage) \
  SLICESORT_TEST_SORT_ON_BLOCKS(linkage, false, slicesort::float16, support::pattern_order)
#define SLICESORT_TEST_BLOCK_ENGINES_bfloat16(linkage) \
  SLICESORT_TEST_SORT_ON_BLOCKS(linkage, false, slicesort::bfloat16, support::pattern_order)
#define SLICESORT_TEST_BLOCK_ENGINES_raw_key32(linkage) \
  SLICESORT_TEST_SORT_ON_ALL_BLOCKS(linkage, slicesort::detail::raw_key32, slicesort::ascending)
SLICESORT_TEST_IF_float(SLICESORT_TEST_BLOCK_ENGINES_float(extern))
SLICESORT_TEST_IF_double(SLICESORT_TEST_BLOCK_ENGINES_double(extern))
SLICESORT_TEST_IF_float16(SLICESORT_TEST_BLOCK_ENGINES_float16(extern))
SLICESORT_TEST_IF_bfloat16(SLICESORT_TEST_BLOCK_ENGINES_bfloat16(extern))
SLICESORT_TEST_BLOCK_ENGINES_raw_key32(extern)
    // clang-format on
