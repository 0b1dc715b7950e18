// SPDX-License-Identifier: Apache-2.0
// What depends on the compiler: host-device functions, unrolling, exceptions, the namespace of
// compiled code, and functions that may not be called.
#pragma once

#if defined(__CUDACC__)
#  define SLICESORT_HD __host__ __device__
// For functions that pass registers by reference: a call that is not inlined would spill them.
#  define SLICESORT_HD_INLINE __host__ __device__ __forceinline__
#else
#  define SLICESORT_HD
#  define SLICESORT_HD_INLINE inline
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

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#  define SLICESORT_EXCEPTIONS 1
#else
#  define SLICESORT_EXCEPTIONS 0
#endif

// Views, policies and errors live in `slicesort::v0`: they are the same for every compiler.
// Operators and backends live in `slicesort::SLICESORT_BUILD`: their code depends on the list of
// CUDA architectures and on -fno-exceptions, and the linker must not merge weak symbols of object
// files that were built differently.
#define SLICESORT_PP_CAT_(a, b) a##b
#define SLICESORT_PP_CAT(a, b) SLICESORT_PP_CAT_(a, b)

#if SLICESORT_EXCEPTIONS
#  define SLICESORT_PP_EXCEPTIONS
#else
#  define SLICESORT_PP_EXCEPTIONS _noexcept
#endif

#if defined(__CUDACC__) && defined(__CUDA_ARCH_LIST__)
#  define SLICESORT_PP_COUNT(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, n, ...) n
#  define SLICESORT_PP_JOIN1(a) _##a
#  define SLICESORT_PP_JOIN2(a, ...) \
    SLICESORT_PP_CAT(SLICESORT_PP_JOIN1(a), SLICESORT_PP_JOIN1(__VA_ARGS__))
#  define SLICESORT_PP_JOIN3(a, ...) \
    SLICESORT_PP_CAT(SLICESORT_PP_JOIN1(a), SLICESORT_PP_JOIN2(__VA_ARGS__))
#  define SLICESORT_PP_JOIN4(a, ...) \
    SLICESORT_PP_CAT(SLICESORT_PP_JOIN1(a), SLICESORT_PP_JOIN3(__VA_ARGS__))
#  define SLICESORT_PP_JOIN5(a, ...) \
    SLICESORT_PP_CAT(SLICESORT_PP_JOIN1(a), SLICESORT_PP_JOIN4(__VA_ARGS__))
#  define SLICESORT_PP_JOIN6(a, ...) \
    SLICESORT_PP_CAT(SLICESORT_PP_JOIN1(a), SLICESORT_PP_JOIN5(__VA_ARGS__))
#  define SLICESORT_PP_JOIN7(a, ...) \
    SLICESORT_PP_CAT(SLICESORT_PP_JOIN1(a), SLICESORT_PP_JOIN6(__VA_ARGS__))
#  define SLICESORT_PP_JOIN8(a, ...) \
    SLICESORT_PP_CAT(SLICESORT_PP_JOIN1(a), SLICESORT_PP_JOIN7(__VA_ARGS__))
#  define SLICESORT_PP_JOIN_N(n, ...) SLICESORT_PP_CAT(SLICESORT_PP_JOIN, n)(__VA_ARGS__)
#  define SLICESORT_PP_JOIN(...)                                                                \
    SLICESORT_PP_JOIN_N(SLICESORT_PP_COUNT(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), \
                        __VA_ARGS__)
#  define SLICESORT_BUILD                                                            \
    SLICESORT_PP_CAT(SLICESORT_PP_CAT(v0_sm, SLICESORT_PP_JOIN(__CUDA_ARCH_LIST__)), \
                     SLICESORT_PP_EXCEPTIONS)
#else
#  define SLICESORT_BUILD SLICESORT_PP_CAT(v0_host, SLICESORT_PP_EXCEPTIONS)
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
inline namespace v0 {
namespace detail {
template <class>
void because(char const*);
}
}  // namespace v0
}  // namespace slicesort
#  define SLICESORT_REFUSED(First, sentence) decltype(::slicesort::detail::because<First>(sentence))
#  define SLICESORT_REFUSAL = delete
#  define SLICESORT_REFUSED_CONSTRUCTOR(name, First, sentence) \
    name(First const&, decltype(::slicesort::detail::because<First>(sentence))* = nullptr) = delete
#endif
