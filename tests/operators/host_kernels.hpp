// SPDX-License-Identifier: Apache-2.0
// Explicit instantiations of an operator's host backend: forward and backward of a tag. Generated
// units (units.cmake) compile them once for all programs.
#pragma once

#include "vector_kernels.hpp"

#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/workspace.hpp>

// The variants _FORWARD are for a tag without backward.
#define SLICESORT_TEST_HOST_FORWARD(linkage, Op, T)                          \
  linkage template void slicesort::detail::host_implementation<Op>::forward( \
      slicesort::detail::host_exec const&, Op::forward<T> const&, slicesort::workspace);
#define SLICESORT_TEST_HOST_BACKWARD(linkage, Op, T)                          \
  linkage template void slicesort::detail::host_implementation<Op>::backward( \
      slicesort::detail::host_exec const&, Op::backward<T> const&, slicesort::workspace);
#define SLICESORT_TEST_COMPILED_ELSEWHERE_FORWARD(Op, T) SLICESORT_TEST_HOST_FORWARD(extern, Op, T)
#define SLICESORT_TEST_COMPILED_ELSEWHERE(Op, T)   \
  SLICESORT_TEST_COMPILED_ELSEWHERE_FORWARD(Op, T) \
  SLICESORT_TEST_HOST_BACKWARD(extern, Op, T)
#define SLICESORT_TEST_COMPILED_HERE_FORWARD(Op, T) SLICESORT_TEST_HOST_FORWARD(, Op, T)
#define SLICESORT_TEST_COMPILED_HERE(Op, T)   \
  SLICESORT_TEST_COMPILED_HERE_FORWARD(Op, T) \
  SLICESORT_TEST_HOST_BACKWARD(, Op, T)
