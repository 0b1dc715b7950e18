// SPDX-License-Identifier: Apache-2.0
// How a kernel is compiled for a newer processor inside a binary for the baseline one, and how the
// right one is called. foreach_target.inl shows both at work.
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

// The compiler's names for the instructions of the sets in isa.hpp. FMA is apart from AVX2: where a
// compiler knows it, it may fuse any product and sum, and round once where the source rounds twice.
// So only kernels that ask for fused multiply-adds by name are compiled with it.
#define SLICESORT_AVX2 "avx2"
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

// At the beginning of a kernel whose roundings must stay as written, whatever -ffast-math allows.
#if defined(__clang__) && defined(__x86_64__)
#  define SLICESORT_AS_WRITTEN _Pragma("float_control(precise, on)")
#else
#  define SLICESORT_AS_WRITTEN
#endif

SLICESORT_DETAIL_BEGIN

// A tag for every instruction set. A function that takes one as its first argument is found by
// argument-dependent lookup in the set's namespace.
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

// Calls f(tag of the set), once for a tile or a call: `f` itself is code for the baseline
// processor, so a loop in it could inline nothing that was compiled for the set.
template <class F>
void with_isa(isa set, F const& f) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx512) return f(avx512::target{});
  if (set == isa::avx2) return f(avx2::target{});
#endif
  (void)set;
  f(portable::target{});
}

// Vectors of lanes on every instruction set: the vocabulary of all SIMD kernels.
#define SLICESORT_TARGET_TEXT <slicesort/detail/host/simd/vectors.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
