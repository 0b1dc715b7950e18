// SPDX-License-Identifier: Apache-2.0
// SLICESORT_BUILD, an inline namespace that encodes the compiler settings. Translation units with
// different settings get different symbols, so the linker never merges their functions.
//
// Operators, backends and internal code live in `slicesort::SLICESORT_BUILD`. Types that
// translation units exchange (views, policies, errors) live in `slicesort::v0`, which is the same
// for every compiler. Their functions carry SLICESORT_BUILD as an ABI tag, which changes the symbol
// and leaves the types alone.
#pragma once

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#  error "slicesort: needs C++17 or later: compile with -std=c++17."
#  include <C++17>  // Missing on purpose: stops before follow-up errors.
#elif defined(min) || defined(max)
#  error "slicesort: min and max must not be macros: define NOMINMAX before <windows.h>."
#  include <NOMINMAX>  // Missing on purpose, as above.
#endif

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#  define SLICESORT_EXCEPTIONS 1
#else
#  define SLICESORT_EXCEPTIONS 0
#endif

// GCC and Clang have GNU vector extensions. Other compilers fall back to the scalar `portable`
// loops.
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(SLICESORT_NO_VECTOR_EXTENSIONS)
#  define SLICESORT_GNU_VECTORS 1
#else
#  define SLICESORT_GNU_VECTORS 0
#endif

// True if the compiler can detect and assemble AVX512-BF16.
#if SLICESORT_GNU_VECTORS && defined(__x86_64__) && \
    (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 11)
#  define SLICESORT_BFLOAT16_PAIRS 1
#else
#  define SLICESORT_BFLOAT16_PAIRS 0
#endif

#define SLICESORT_PP_CAT_(a, b) a##b
#define SLICESORT_PP_CAT(a, b) SLICESORT_PP_CAT_(a, b)

// Target: v0_host or, with nvcc, up to 24 GPU architectures: v0_sm_8001200 for 800 and 1200. This
// is unambiguous, because four-digit architectures start with 1 and three-digit ones do not.
#if defined(__CUDACC__) && defined(__CUDA_ARCH_LIST__)
#  define SLICESORT_PP_SM_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, \
                           ...)                                                                    \
    v0_sm_##a##b##c##d##e##f##g##h##i##j##k##l##m##n##o##p##q##r##s##t##u##v##w##x
#  define SLICESORT_PP_SM(...) SLICESORT_PP_SM_(__VA_ARGS__)
#  define SLICESORT_PP_ARCHITECTURE \
    SLICESORT_PP_SM(__CUDA_ARCH_LIST__, , , , , , , , , , , , , , , , , , , , , , , , )
#elif SLICESORT_GNU_VECTORS && defined(__x86_64__) && !SLICESORT_BFLOAT16_PAIRS
#  define SLICESORT_PP_ARCHITECTURE v0_host_no_bf16
#elif SLICESORT_GNU_VECTORS
#  define SLICESORT_PP_ARCHITECTURE v0_host
#else
#  define SLICESORT_PP_ARCHITECTURE v0_host_plain
#endif

#if defined(__clang__)
#  define SLICESORT_PP_COMPILER_SUFFIX _clang
#else
#  define SLICESORT_PP_COMPILER_SUFFIX
#endif

#if SLICESORT_EXCEPTIONS
#  define SLICESORT_PP_EXCEPTIONS_SUFFIX
#else
#  define SLICESORT_PP_EXCEPTIONS_SUFFIX _noexcept
#endif

// Expands to 1 if a macro is defined as 1, else to 0. Only PLACEHOLDER_1 expands, which shifts the
// arguments by one.
#define SLICESORT_PP_PLACEHOLDER_1 0,
#define SLICESORT_PP_SECOND(first, second, ...) second
#define SLICESORT_PP_BIT_OF(placeholder) SLICESORT_PP_SECOND(placeholder 1, 0, 0)
#define SLICESORT_PP_BIT_(value) SLICESORT_PP_BIT_OF(SLICESORT_PP_PLACEHOLDER_##value)
#define SLICESORT_PP_BIT(macro) SLICESORT_PP_BIT_(macro)

// Packs four 0/1 macros into a hexadecimal digit.
#define SLICESORT_PP_HEX_0000 0
#define SLICESORT_PP_HEX_0001 1
#define SLICESORT_PP_HEX_0010 2
#define SLICESORT_PP_HEX_0011 3
#define SLICESORT_PP_HEX_0100 4
#define SLICESORT_PP_HEX_0101 5
#define SLICESORT_PP_HEX_0110 6
#define SLICESORT_PP_HEX_0111 7
#define SLICESORT_PP_HEX_1000 8
#define SLICESORT_PP_HEX_1001 9
#define SLICESORT_PP_HEX_1010 a
#define SLICESORT_PP_HEX_1011 b
#define SLICESORT_PP_HEX_1100 c
#define SLICESORT_PP_HEX_1101 d
#define SLICESORT_PP_HEX_1110 e
#define SLICESORT_PP_HEX_1111 f
#define SLICESORT_PP_HEX_OF(a, b, c, d) SLICESORT_PP_HEX_##a##b##c##d
#define SLICESORT_PP_HEX_(a, b, c, d) SLICESORT_PP_HEX_OF(a, b, c, d)
#define SLICESORT_PP_HEX(a, b, c, d)                                               \
  SLICESORT_PP_HEX_(SLICESORT_PP_BIT(a), SLICESORT_PP_BIT(b), SLICESORT_PP_BIT(c), \
                    SLICESORT_PP_BIT(d))
#define SLICESORT_PP_CAT4_(a, b, c, d) a##b##c##d
#define SLICESORT_PP_CAT4(a, b, c, d) SLICESORT_PP_CAT4_(a, b, c, d)

// Instruction set extensions enabled for the whole translation unit, one bit each.
#if defined(__x86_64__)
#  define SLICESORT_PP_ISA_BITS                                                            \
    SLICESORT_PP_CAT4(                                                                     \
        SLICESORT_PP_CAT4(SLICESORT_PP_HEX(__SSE3__, __SSSE3__, __SSE4_1__, __SSE4_2__),   \
                          SLICESORT_PP_HEX(__SSE4A__, __POPCNT__, __LZCNT__, __BMI__),     \
                          SLICESORT_PP_HEX(__BMI2__, __TBM__, __MOVBE__, __LAHF_SAHF__),   \
                          SLICESORT_PP_HEX(__AVX__, __F16C__, __FMA__, __FMA4__)),         \
        SLICESORT_PP_CAT4(                                                                 \
            SLICESORT_PP_HEX(__XOP__, __AVX2__, __GFNI__, __APX_F__),                      \
            SLICESORT_PP_HEX(__AVXVNNI__, __AVXIFMA__, __AVXNECONVERT__, __AVXVNNIINT8__), \
            SLICESORT_PP_HEX(__AVXVNNIINT16__, __CMPCCXADD__, __AVX10_1__, __AVX10_2__),   \
            SLICESORT_PP_HEX(__AVX512F__, __AVX512BW__, __AVX512CD__, __AVX512DQ__)),      \
        SLICESORT_PP_HEX(__AVX512VL__, __AVX512IFMA__, __AVX512VBMI__, __AVX512VBMI2__),   \
        SLICESORT_PP_CAT4(                                                                 \
            SLICESORT_PP_HEX(__AVX512VNNI__, __AVX512BITALG__, __AVX512VPOPCNTDQ__,        \
                             __AVX512BF16__),                                              \
            SLICESORT_PP_HEX(__AVX512FP16__, __AVX512ER__, __AVX512PF__, __AVX5124FMAPS__), , ))
#elif defined(__aarch64__)
#  define SLICESORT_PP_ISA_BITS                                                        \
    SLICESORT_PP_CAT4(SLICESORT_PP_HEX(__ARM_FEATURE_ATOMICS, __ARM_FEATURE_DOTPROD,   \
                                       __ARM_FEATURE_QRDMX, __ARM_FEATURE_COMPLEX),    \
                      SLICESORT_PP_HEX(__ARM_FEATURE_FP16_SCALAR_ARITHMETIC,           \
                                       __ARM_FEATURE_FP16_VECTOR_ARITHMETIC,           \
                                       __ARM_FEATURE_FP16_FML, __ARM_FEATURE_BF16),    \
                      SLICESORT_PP_HEX(__ARM_FEATURE_SVE, __ARM_FEATURE_SVE2,          \
                                       __ARM_FEATURE_SVE2p1, __ARM_FEATURE_SVE_BF16),  \
                      SLICESORT_PP_HEX(__ARM_FEATURE_MATMUL_INT8, __ARM_FEATURE_FRINT, \
                                       __ARM_FEATURE_MOPS, __ARM_FEATURE_CSSC))
#else
#  define SLICESORT_PP_ISA_BITS                                                          \
    SLICESORT_PP_CAT(                                                                    \
        SLICESORT_PP_HEX(__FP_FAST_FMAF, __VSX__, __POWER8_VECTOR__, __POWER9_VECTOR__), \
        SLICESORT_PP_HEX(__riscv_vector, __VX__, __loongarch_sx, __loongarch_asx))
#endif
#if SLICESORT_PP_CAT(0x, SLICESORT_PP_ISA_BITS) != 0
#  define SLICESORT_PP_ISA_SUFFIX SLICESORT_PP_CAT(_isa_, SLICESORT_PP_ISA_BITS)
#else
#  define SLICESORT_PP_ISA_SUFFIX
#endif

// Floating-point optimizations enabled by -ffast-math or one of its sub-flags.
#define SLICESORT_PP_MATH_BITS                                                                    \
  SLICESORT_PP_CAT(SLICESORT_PP_HEX(__FAST_MATH__, __FINITE_MATH_ONLY__, __ASSOCIATIVE_MATH__,    \
                                    __RECIPROCAL_MATH__),                                         \
                   SLICESORT_PP_HEX(__NO_SIGNED_ZEROS__, __NO_TRAPPING_MATH__, __NO_MATH_ERRNO__, \
                                    __ROUNDING_MATH__))
#if SLICESORT_PP_CAT(0x, SLICESORT_PP_MATH_BITS) != 0
#  define SLICESORT_PP_MATH_SUFFIX SLICESORT_PP_CAT(_math_, SLICESORT_PP_MATH_BITS)
#else
#  define SLICESORT_PP_MATH_SUFFIX
#endif

#define SLICESORT_BUILD                                                                     \
  SLICESORT_PP_CAT(SLICESORT_PP_ARCHITECTURE,                                               \
                   SLICESORT_PP_CAT4(SLICESORT_PP_COMPILER_SUFFIX, SLICESORT_PP_ISA_SUFFIX, \
                                     SLICESORT_PP_MATH_SUFFIX, SLICESORT_PP_EXCEPTIONS_SUFFIX))

// ABI tag, required on every function of `slicesort::v0`.
#if defined(__GNUC__)
#  define SLICESORT_PP_TEXT_(name) #  name
#  define SLICESORT_PP_STRINGIZE(name) SLICESORT_PP_TEXT_(name)
#  define SLICESORT_ABI_TAG __attribute__((abi_tag(SLICESORT_PP_STRINGIZE(SLICESORT_BUILD))))
#else
#  define SLICESORT_ABI_TAG
#endif

// Open and close the namespaces of exchanged types, of operators, and of internal code.
#define SLICESORT_TYPES_BEGIN \
  namespace slicesort {       \
  inline namespace v0 {
#define SLICESORT_TYPES_END \
  }                         \
  }
#define SLICESORT_OPERATORS_BEGIN \
  namespace slicesort {           \
  inline namespace SLICESORT_BUILD {
#define SLICESORT_OPERATORS_END \
  }                             \
  }
#define SLICESORT_DETAIL_BEGIN \
  SLICESORT_OPERATORS_BEGIN    \
  namespace detail {
#define SLICESORT_DETAIL_END \
  }                          \
  SLICESORT_OPERATORS_END
