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
