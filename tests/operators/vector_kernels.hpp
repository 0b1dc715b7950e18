// SPDX-License-Identifier: Apache-2.0
// The kernels of every instruction set, which take longest to compile.
#pragma once

#include <slicesort/detail/host/simd/target.hpp>

// list(linkage, set, ...) for each set.
#if SLICESORT_X86_DISPATCH
#  define SLICESORT_TEST_FOR_EACH_SET(list, linkage, ...)                 \
    list(linkage, portable, __VA_ARGS__) list(linkage, avx2, __VA_ARGS__) \
        list(linkage, avx512, __VA_ARGS__)
#else
#  define SLICESORT_TEST_FOR_EACH_SET(list, linkage, ...) list(linkage, portable, __VA_ARGS__)
#endif

// The kernels for elements T that the function `choose` puts into a table.
#define SLICESORT_TEST_KERNELS(linkage, choose, table, T) \
  SLICESORT_TEST_FOR_EACH_SET(SLICESORT_TEST_KERNELS_OF_SET, linkage, choose, table, T)
#define SLICESORT_TEST_KERNELS_OF_SET(linkage, set, choose, table, T)                  \
  linkage template void slicesort::detail::set::choose(slicesort::detail::set::target, \
                                                       slicesort::detail::table<T>&);
