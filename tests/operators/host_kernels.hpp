// SPDX-License-Identifier: Apache-2.0
// The host backend of an operator is most of what a test would compile, so generated units
// (units.cmake) compile it once for all programs. This says what: forward and backward of a tag
// for the two policies of the tests.
#pragma once

#include "support/executors.hpp"
#include "vector_kernels.hpp"

#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/workspace.hpp>

namespace support {
using test_host = slicesort::exec::host;
using test_host_on = slicesort::exec::host_on<test_executor>;
}  // namespace support

// FORWARD: of a tag without backward.
#define SLICESORT_TEST_HOST_FORWARD(linkage, Exec, Op, T)                        \
  linkage template void                                                          \
  slicesort::impl::implementation<Op, slicesort::detail::host_backend>::forward( \
      Exec const&, Op::forward<T> const&, slicesort::workspace);
#define SLICESORT_TEST_HOST_BACKWARD(linkage, Exec, Op, T)                        \
  linkage template void                                                           \
  slicesort::impl::implementation<Op, slicesort::detail::host_backend>::backward( \
      Exec const&, Op::backward<T> const&, slicesort::workspace);
#define SLICESORT_TEST_HOST_CALLS(direction, linkage, Op, T)          \
  SLICESORT_TEST_HOST_##direction(linkage, support::test_host, Op, T) \
      SLICESORT_TEST_HOST_##direction(linkage, support::test_host_on, Op, T)
#define SLICESORT_TEST_COMPILED_ELSEWHERE_FORWARD(Op, T) \
  SLICESORT_TEST_HOST_CALLS(FORWARD, extern, Op, T)
#define SLICESORT_TEST_COMPILED_ELSEWHERE(Op, T)   \
  SLICESORT_TEST_COMPILED_ELSEWHERE_FORWARD(Op, T) \
  SLICESORT_TEST_HOST_CALLS(BACKWARD, extern, Op, T)
#define SLICESORT_TEST_COMPILED_HERE_FORWARD(Op, T) SLICESORT_TEST_HOST_CALLS(FORWARD, , Op, T)
#define SLICESORT_TEST_COMPILED_HERE(Op, T)   \
  SLICESORT_TEST_COMPILED_HERE_FORWARD(Op, T) \
  SLICESORT_TEST_HOST_CALLS(BACKWARD, , Op, T)
