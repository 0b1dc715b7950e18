// SPDX-License-Identifier: Apache-2.0
/// Accepts more 16-bit types as element types: `_Float16`, C++23's `std::float16_t` and
/// `std::bfloat16_t`, CUDA's `__half` and `__nv_bfloat16`. Results are bit-identical to
/// `float16` and `bfloat16`. CUDA's types are only declared here. Include their headers yourself,
/// before or after this one.
#pragma once

#include <slicesort/dtype.hpp>

#if defined(__STDCPP_FLOAT16_T__) || defined(__STDCPP_BFLOAT16_T__)
#  include <stdfloat>
#endif

// g++ 12 has _Float16 in C++ with SSE2 only, but its limits everywhere.
#if defined(__FLT16_MAX__) && (defined(__clang__) || defined(__SSE2__) || __GNUC__ > 12)
#  define SLICESORT_HAS_FLOAT16 1
#else
#  define SLICESORT_HAS_FLOAT16 0
#endif

struct __half;
struct __nv_bfloat16;

SLICESORT_TYPES_BEGIN

template <>
struct dtype_traits<__half> : dtype_traits<float16> {};
template <>
struct dtype_traits<__nv_bfloat16> : dtype_traits<bfloat16> {};

// std::float16_t, if it exists, is the same type as _Float16.
#if defined(__STDCPP_FLOAT16_T__)
template <>
struct dtype_traits<std::float16_t> : dtype_traits<float16> {};
#elif SLICESORT_HAS_FLOAT16
template <>
struct dtype_traits<_Float16> : dtype_traits<float16> {};
#endif
#if defined(__STDCPP_BFLOAT16_T__)
template <>
struct dtype_traits<std::bfloat16_t> : dtype_traits<bfloat16> {};
#endif

SLICESORT_TYPES_END
