// SPDX-License-Identifier: Apache-2.0
// The host backend of every operator is most of what a test would compile, so host_kernels.cpp
// compiles it once for all programs.
#pragma once

#include "executors.hpp"
#include "operators.hpp"

#include <slicesort/slicesort.hpp>

namespace support {
using test_host = slicesort::exec::host;
using test_host_on = slicesort::exec::host_on<test_executor>;
}  // namespace support

#define SLICESORT_TEST_HOST_CALLS(linkage, Exec, Op, T)                           \
  linkage template void                                                           \
  slicesort::impl::implementation<Op, slicesort::detail::host_backend>::forward(  \
      Exec const&, Op::forward<T> const&, slicesort::workspace);                  \
  linkage template void                                                           \
  slicesort::impl::implementation<Op, slicesort::detail::host_backend>::backward( \
      Exec const&, Op::backward<T> const&, slicesort::workspace);
#define SLICESORT_TEST_COMPILED_ELSEWHERE(Op, T)               \
  SLICESORT_TEST_HOST_CALLS(extern, support::test_host, Op, T) \
  SLICESORT_TEST_HOST_CALLS(extern, support::test_host_on, Op, T)
#define SLICESORT_TEST_COMPILED_HERE(Op, T)              \
  SLICESORT_TEST_HOST_CALLS(, support::test_host, Op, T) \
  SLICESORT_TEST_HOST_CALLS(, support::test_host_on, Op, T)

// What operators of any order share.
#define SLICESORT_TEST_HOST_TILES(linkage, T)                                                     \
  linkage template void slicesort::impl::sort_tiles(slicesort::isa,                               \
                                                    slicesort::impl::column_tile<T> const*, int); \
  linkage template void slicesort::impl::permute_tiles(slicesort::impl::permuted_tile<T> const*,  \
                                                       int);

SLICESORT_TEST_OPERATORS(SLICESORT_TEST_COMPILED_ELSEWHERE, float)
SLICESORT_TEST_OPERATORS(SLICESORT_TEST_COMPILED_ELSEWHERE, double)
SLICESORT_TEST_OPERATORS(SLICESORT_TEST_COMPILED_ELSEWHERE, slicesort::float16)
SLICESORT_TEST_OPERATORS(SLICESORT_TEST_COMPILED_ELSEWHERE, slicesort::bfloat16)
SLICESORT_TEST_HOST_TILES(extern, float)
SLICESORT_TEST_HOST_TILES(extern, double)
SLICESORT_TEST_HOST_TILES(extern, slicesort::float16)
SLICESORT_TEST_HOST_TILES(extern, slicesort::bfloat16)
