// SPDX-License-Identifier: Apache-2.0
// Macros that depend on the compiler: host-device functions, unrolling, deleted functions.
#pragma once

#include <slicesort/detail/core/build.hpp>

#if defined(__CUDACC__)
#  define SLICESORT_HD __host__ __device__
// Forces inlining. Without it, registers passed by reference would be spilled.
#  define SLICESORT_HD_INLINE __host__ __device__ __forceinline__
#else
#  define SLICESORT_HD
#  define SLICESORT_HD_INLINE inline
#endif

// Before a host-device template whose arguments may have functions for the host alone.
#if defined(__NVCC__)
#  define SLICESORT_HD_UNCHECKED _Pragma("nv_exec_check_disable")
#else
#  define SLICESORT_HD_UNCHECKED
#endif

#define SLICESORT_HD_ABI_TAG SLICESORT_HD SLICESORT_ABI_TAG

// nvcc parses the tag of a member template twice and warns about a duplicate.
#if defined(__NVCC_DIAG_PRAGMA_SUPPORT__)
#  pragma nv_diag_suppress 2648
#endif

// Rejects 32-bit x86, whose functions return numbers in x87 registers, and x87 arithmetic: both
// would silently change results. (Clang reports an evaluation method of -1 under -ffast-math.)
#if defined(__i386__) || defined(_M_IX86)
#  error \
      "slicesort: 32-bit x86 is not supported, because it changes signaling NaN: compile for x86-64."
#elif defined(__x86_64__)
#  if !defined(__SSE2_MATH__) || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2 || \
      (__FLT_EVAL_METHOD__ == -1 && !defined(__clang__))
#    error \
        "slicesort: floating-point arithmetic must not be that of x87: compile with -mfpmath=sse."
#  endif
#endif

// Defined in device code only, because host compilers warn about unknown pragmas.
#if defined(__CUDA_ARCH__)
// Unrolls loops of constant length over arrays that must stay in registers.
#  define SLICESORT_UNROLL _Pragma("unroll")
// Unrolls loops to overlap their loads.
#  define SLICESORT_UNROLL_2 _Pragma("unroll 2")
#  define SLICESORT_UNROLL_4 _Pragma("unroll 4")
#  define SLICESORT_NO_UNROLL _Pragma("unroll 1")
#else
#  define SLICESORT_UNROLL
#  define SLICESORT_UNROLL_2
#  define SLICESORT_UNROLL_4
#  define SLICESORT_NO_UNROLL
#endif

// Declare a deleted function template with an error message that SFINAE ignores. The result type is
// SLICESORT_REFUSED(First, sentence), where First is one of the template parameters;
// SLICESORT_REFUSAL ends the declaration. g++ prints the declaration, nvcc prints the line, and
// clang prints the text of an attribute (g++ would print the attribute in SFINAE too).
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
