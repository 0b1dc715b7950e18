// SPDX-License-Identifier: Apache-2.0
// Macros that depend on the compiler: host-device functions, unrolling, and functions that may not
// be called.
#pragma once

#include <slicesort/detail/core/build.hpp>

#if defined(__CUDACC__)
#  define SLICESORT_HD __host__ __device__
// For functions that pass registers by reference: a call that is not inlined would spill them.
#  define SLICESORT_HD_INLINE __host__ __device__ __forceinline__
#else
#  define SLICESORT_HD
#  define SLICESORT_HD_INLINE inline
#endif

// Host-device function of `slicesort::v0`.
#define SLICESORT_HD_ABI_TAG SLICESORT_HD SLICESORT_ABI_TAG

// nvcc reads the tag of a member template twice, and warns that the second replaces the first.
#if defined(__NVCC_DIAG_PRAGMA_SUPPORT__)
#  pragma nv_diag_suppress 2648
#endif

// x87 arithmetic keeps more bits than a type has, unasked: results would silently differ from those
// of all other builds. (Clang may say -1 of its method under -ffast-math, which promises nothing.)
#if defined(__x86_64__) || defined(__i386__)
#  if !defined(__SSE2_MATH__) || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2 || \
      (__FLT_EVAL_METHOD__ == -1 && !defined(__clang__))
#    define SLICESORT_X87 1
#  endif
#elif defined(_M_IX86_FP)
#  if _M_IX86_FP < 2
#    define SLICESORT_X87 1
#  endif
#endif
#if defined(SLICESORT_X87)
#  error \
      "slicesort: floating-point arithmetic must not be that of x87: compile with -msse2 -mfpmath=sse."
#endif

// Device code only: the host compiler behind a CUDA compiler warns about unknown pragmas.
#if defined(__CUDA_ARCH__)
// Goes before a loop of constant length over an array that must stay in registers.
#  define SLICESORT_UNROLL _Pragma("unroll")
// Goes before a loop whose loads should be in flight together.
#  define SLICESORT_UNROLL_2 _Pragma("unroll 2")
#  define SLICESORT_UNROLL_4 _Pragma("unroll 4")
// Goes before a loop that must not be unrolled.
#  define SLICESORT_NO_UNROLL _Pragma("unroll 1")
#else
#  define SLICESORT_UNROLL
#  define SLICESORT_UNROLL_2
#  define SLICESORT_UNROLL_4
#  define SLICESORT_NO_UNROLL
#endif

// A function that may not be called, and is not there to SFINAE: its result is
// SLICESORT_REFUSED(First, sentence), and SLICESORT_REFUSAL ends its declaration. First is one of
// its template parameters. Each compiler says the sentence in the way it can: g++ prints the
// declaration, clang the text of an attribute, which g++ would print in SFINAE too; nvcc gives the
// line.
#if defined(__clang__) && !defined(__CUDACC__)
#  define SLICESORT_REFUSED(First, sentence) __attribute__((unavailable(sentence))) void
#  define SLICESORT_REFUSAL
#  define SLICESORT_REFUSED_CONSTRUCTOR(name, First, sentence) \
    __attribute__((unavailable(sentence))) name(First const&)
#else
namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {
template <class>
void because(char const*);
}
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
#  define SLICESORT_REFUSED(First, sentence) decltype(::slicesort::detail::because<First>(sentence))
#  define SLICESORT_REFUSAL = delete
#  define SLICESORT_REFUSED_CONSTRUCTOR(name, First, sentence) \
    name(First const&, decltype(::slicesort::detail::because<First>(sentence))* = nullptr) = delete
#endif
