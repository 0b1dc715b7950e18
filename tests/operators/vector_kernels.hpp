// SPDX-License-Identifier: Apache-2.0
// Explicit instantiations for every instruction set, which take longest to compile.
#pragma once

#include <slicesort/detail/host/simd/target.hpp>

// Expands to list(linkage, set, ...) for each instruction set.
#if SLICESORT_X86_DISPATCH
#  define SLICESORT_TEST_FOR_EACH_SET(list, linkage, ...)                 \
    list(linkage, portable, __VA_ARGS__) list(linkage, avx2, __VA_ARGS__) \
        list(linkage, avx512, __VA_ARGS__)
#else
#  define SLICESORT_TEST_FOR_EACH_SET(list, linkage, ...) list(linkage, portable, __VA_ARGS__)
#endif

// Instantiates `choose`, which fills a table with the kernels for elements of type T.
#define SLICESORT_TEST_KERNELS(linkage, choose, table, T) \
  SLICESORT_TEST_FOR_EACH_SET(SLICESORT_TEST_KERNELS_OF_SET, linkage, choose, table, T)
#define SLICESORT_TEST_KERNELS_OF_SET(linkage, set, choose, table, T)                  \
  linkage template void slicesort::detail::set::choose(slicesort::detail::set::target, \
                                                       slicesort::detail::table<T>&);
