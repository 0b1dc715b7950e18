// SPDX-License-Identifier: Apache-2.0
// What of the host backend depends on the element type alone is most of what a test would compile, so
// host_kernels.cpp compiles it once for all programs.
#pragma once

#include "executors.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/slicing_sort.hpp>

#define SLICESORT_TEST_HOST_CSP(linkage, T, Aligned, Exec)                                  \
  linkage template void slicesort::impl::implementation<                                    \
      slicesort::detail::csp_op<Aligned>,                                                   \
      slicesort::detail::host_backend>::forward(Exec const&,                                \
                                                slicesort::detail::csp_forward<T> const&,   \
                                                slicesort::workspace);                      \
  linkage template void slicesort::impl::implementation<                                    \
      slicesort::detail::csp_op<Aligned>,                                                   \
      slicesort::detail::host_backend>::backward(Exec const&,                               \
                                                 slicesort::detail::csp_backward<T> const&, \
                                                 slicesort::workspace);
// `linkage` is `extern`, or nothing where they are compiled.
#define SLICESORT_TEST_HOST_KERNELS(linkage, T)                                                \
  linkage template void slicesort::impl::sort_tile(slicesort::isa,                             \
                                                   slicesort::impl::column_tile<T> const&);    \
  linkage template void slicesort::impl::move_csp_tile(                                        \
      slicesort::isa, slicesort::impl::csp_tile<T> const&, slicesort::impl::csp_step);         \
  linkage template void slicesort::impl::exchange_pair_rows(                                   \
      slicesort::isa, slicesort::impl::pair_rows<T> const&, slicesort::impl::csp_step);        \
  SLICESORT_TEST_HOST_CSP(linkage, T, false, slicesort::exec::host)                            \
  SLICESORT_TEST_HOST_CSP(linkage, T, true, slicesort::exec::host)                             \
  SLICESORT_TEST_HOST_CSP(linkage, T, false, slicesort::exec::host_on<support::test_executor>) \
  SLICESORT_TEST_HOST_CSP(linkage, T, true, slicesort::exec::host_on<support::test_executor>)

#if !defined(SLICESORT_TEST_DTYPE)
SLICESORT_TEST_HOST_KERNELS(extern, float)
SLICESORT_TEST_HOST_KERNELS(extern, double)
SLICESORT_TEST_HOST_KERNELS(extern, slicesort::float16)
SLICESORT_TEST_HOST_KERNELS(extern, slicesort::bfloat16)
#endif
