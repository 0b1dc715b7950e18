// SPDX-License-Identifier: Apache-2.0
// Helpers that the programs of an operator share are most of what each would compile. A header
// lists them as SLICESORT_TEST_HELPERS_OF_<operator>(linkage, T), explicit instantiations for
// elements T, and generated units (units.cmake) compile them once. This declares the list in
// programs that are linked with those units; others compile what they use.
#pragma once

#include <slicesort/dtype.hpp>

// Their arguments, where the suite has that element type (SLICESORT_TEST_TYPES in CMakeLists.txt).
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

// Says that the suite does without T.
template <class T>
inline constexpr bool is_left_out = false;
template <>
inline constexpr bool is_left_out<float> = true SLICESORT_TEST_IF_float(&&false);
template <>
inline constexpr bool is_left_out<double> = true SLICESORT_TEST_IF_double(&&false);
template <>
inline constexpr bool is_left_out<slicesort::float16> = true SLICESORT_TEST_IF_float16(&&false);
template <>
inline constexpr bool is_left_out<slicesort::bfloat16> = true SLICESORT_TEST_IF_bfloat16(&&false);

}  // namespace support

// Declares the instantiations of `list` for every element type of this suite.
#define SLICESORT_TEST_COMPILED_ONCE(list)                                                    \
  SLICESORT_TEST_IF_float(list(extern, float)) SLICESORT_TEST_IF_double(list(extern, double)) \
      SLICESORT_TEST_IF_float16(list(extern, slicesort::float16))                             \
          SLICESORT_TEST_IF_bfloat16(list(extern, slicesort::bfloat16))
