// SPDX-License-Identifier: Apache-2.0
// Compiles kernels for instruction sets beyond the baseline, and dispatches at run time.
// foreach_target.inl has an example.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/exec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__GNUC__)
#  define SLICESORT_INLINE inline __attribute__((always_inline))
#  define SLICESORT_FLATTEN __attribute__((flatten))  // inlines all calls, lambdas too
#else
#  define SLICESORT_INLINE inline
#  define SLICESORT_FLATTEN
#endif

// Compiler flags of the instruction sets. Only kernels with explicit fused multiply-adds enable
// FMA, because FMA lets the compiler fuse any product and sum, which skips a rounding.
#define SLICESORT_AVX2 "avx2"
#define SLICESORT_AVX2_FMA "avx2,fma"
#define SLICESORT_AVX512 "avx512f,avx512bw,avx512dq,avx512vl"

// Code between SLICESORT_TARGET_BEGIN and SLICESORT_TARGET_END may use the instructions of `set`.
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

// First statement of a kernel whose roundings must not change, even under -ffast-math.
#if defined(__clang__) && defined(__x86_64__)
#  define SLICESORT_AS_WRITTEN _Pragma("float_control(precise, on)")
#else
#  define SLICESORT_AS_WRITTEN
#endif

// Clang 22 no longer has builtins of AVX for fused multiply-adds of 32 bytes.
#define SLICESORT_HAS_ELEMENTWISE_FMA 0
#if defined(__has_builtin)
#  if __has_builtin(__builtin_elementwise_fma)
#    undef SLICESORT_HAS_ELEMENTWISE_FMA
#    define SLICESORT_HAS_ELEMENTWISE_FMA 1
#  endif
#endif

SLICESORT_DETAIL_BEGIN

// Tags of the instruction sets. A tag argument selects the functions of the set's namespace by
// argument-dependent lookup.
namespace portable {
struct target {};
}  // namespace portable
#if SLICESORT_X86_DISPATCH
namespace avx2 {
struct target {};
}  // namespace avx2
namespace avx512 {
struct target {};
}  // namespace avx512
#endif

// Calls f with the tag of the set. `f` itself is compiled for the baseline, so code for the set
// cannot be inlined into it; keep loops out of `f`.
template <class F>
void with_isa(isa set, F const& f) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx512) return f(avx512::target{});
  if (set == isa::avx2) return f(avx2::target{});
#endif
  (void)set;
  f(portable::target{});
}

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/host/simd/vectors.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
