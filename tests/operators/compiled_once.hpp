// SPDX-License-Identifier: Apache-2.0
// Compiles the helpers that an operator's test programs share once instead of in each program. A
// header lists them as SLICESORT_TEST_HELPERS_OF_<operator>(linkage, T), explicit instantiations
// for elements of type T. Generated units (units.cmake) define them, and programs that are linked
// with those units declare them extern.
#pragma once

#include <slicesort/dtype.hpp>

// SLICESORT_TEST_IF_<type>(..) expands to its arguments if SLICESORT_TEST_TYPES (CMakeLists.txt)
// has that element type.
#if defined(SLICESORT_TEST_WITHOUT_float)
#  define SLICESORT_TEST_IF_float(...)
#else
#  define SLICESORT_TEST_IF_float(...) __VA_ARGS__
#endif
#if defined(SLICESORT_TEST_WITHOUT_double)
#  define SLICESORT_TEST_IF_double(...)
#else
#  define SLICESORT_TEST_IF_double(...) __VA_ARGS__
#endif
#if defined(SLICESORT_TEST_WITHOUT_float16)
#  define SLICESORT_TEST_IF_float16(...)
#else
#  define SLICESORT_TEST_IF_float16(...) __VA_ARGS__
#endif
#if defined(SLICESORT_TEST_WITHOUT_bfloat16)
#  define SLICESORT_TEST_IF_bfloat16(...)
#else
#  define SLICESORT_TEST_IF_bfloat16(...) __VA_ARGS__
#endif

namespace support {

// True if the suite does not test T.
template <class T>
inline constexpr bool is_untested = false;
template <>
inline constexpr bool is_untested<float> = true SLICESORT_TEST_IF_float(&&false);
template <>
inline constexpr bool is_untested<double> = true SLICESORT_TEST_IF_double(&&false);
template <>
inline constexpr bool is_untested<slicesort::float16> = true SLICESORT_TEST_IF_float16(&&false);
template <>
inline constexpr bool is_untested<slicesort::bfloat16> = true SLICESORT_TEST_IF_bfloat16(&&false);

}  // namespace support

// Declares the instantiations of `list` for every element type of this suite.
#define SLICESORT_TEST_COMPILED_ONCE(list)                                                    \
  SLICESORT_TEST_IF_float(list(extern, float)) SLICESORT_TEST_IF_double(list(extern, double)) \
      SLICESORT_TEST_IF_float16(list(extern, slicesort::float16))                             \
          SLICESORT_TEST_IF_bfloat16(list(extern, slicesort::bfloat16))
