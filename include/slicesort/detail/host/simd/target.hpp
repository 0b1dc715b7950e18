// SPDX-License-Identifier: Apache-2.0
// How a kernel is compiled for a newer processor inside a binary for the baseline one.
#pragma once

#if defined(__GNUC__)
#  define SLICESORT_INLINE inline __attribute__((always_inline))
#else
#  define SLICESORT_INLINE inline
#endif

// What an instruction set of isa.hpp may use.
#define SLICESORT_AVX2 "avx2"
// Where a kernel asks for fused multiply-adds; elsewhere a compiler could form them unasked.
#define SLICESORT_AVX2_FMA "avx2,fma"
#define SLICESORT_AVX512 "avx512f,avx512bw,avx512dq,avx512vl"

// Code between SLICESORT_TARGET_BEGIN and SLICESORT_TARGET_END may use the instructions named.
#define SLICESORT_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#  define SLICESORT_TARGET_BEGIN(set) \
    SLICESORT_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#  define SLICESORT_TARGET_END SLICESORT_PRAGMA(clang attribute pop)
#else
#  define SLICESORT_TARGET_BEGIN(set) \
    SLICESORT_PRAGMA(GCC push_options) SLICESORT_PRAGMA(GCC target(set))
#  define SLICESORT_TARGET_END SLICESORT_PRAGMA(GCC pop_options)
#endif

// At the beginning of a body whose roundings must stay as written, whatever -ffast-math allows.
#if defined(__clang__) && defined(__x86_64__)
#  define SLICESORT_AS_WRITTEN _Pragma("float_control(precise, on)")
#else
#  define SLICESORT_AS_WRITTEN
#endif
