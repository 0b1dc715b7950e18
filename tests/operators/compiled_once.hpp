// SPDX-License-Identifier: Apache-2.0
// Helpers that the programs of an operator share are most of what each would compile. A header
// lists them as SLICESORT_TEST_HELPERS_OF_<operator>(linkage, T), explicit instantiations for
// elements T, and generated units (units.cmake) compile them once. This declares the list in
// programs that are linked with those units; others compile what they use.
#pragma once

#include <slicesort/dtype.hpp>

#if defined(SLICESORT_TEST_WITHOUT_float)
#  define SLICESORT_TEST_FOR_float(list)
#else
#  define SLICESORT_TEST_FOR_float(list) list(extern, float)
#endif
#if defined(SLICESORT_TEST_WITHOUT_double)
#  define SLICESORT_TEST_FOR_double(list)
#else
#  define SLICESORT_TEST_FOR_double(list) list(extern, double)
#endif
#if defined(SLICESORT_TEST_WITHOUT_float16)
#  define SLICESORT_TEST_FOR_float16(list)
#else
#  define SLICESORT_TEST_FOR_float16(list) list(extern, slicesort::float16)
#endif
#if defined(SLICESORT_TEST_WITHOUT_bfloat16)
#  define SLICESORT_TEST_FOR_bfloat16(list)
#else
#  define SLICESORT_TEST_FOR_bfloat16(list) list(extern, slicesort::bfloat16)
#endif

// Declares the instantiations of `list` for every element type of this suite.
#define SLICESORT_TEST_COMPILED_ONCE(list)                                                        \
  SLICESORT_TEST_FOR_float(list) SLICESORT_TEST_FOR_double(list) SLICESORT_TEST_FOR_float16(list) \
      SLICESORT_TEST_FOR_bfloat16(list)
