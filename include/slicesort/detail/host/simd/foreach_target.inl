// SPDX-License-Identifier: Apache-2.0
// Compiles a file for every instruction set of isa.hpp. Includes SLICESORT_TARGET_INCLUDE once per
// set, in a namespace with the set's name, where the compiler may use the set's instructions.
// Kernels are written in three steps; max_exchange's host/running_maximum.inl and .hpp are the
// smallest example.
//
// 1. Write the kernel file, say rows.inl, without namespace, headers or #pragma once. Its entry
//    functions take the set's tag `target` first (target.hpp). It can use the set's vec,
//    load_lanes, vector_bytes, register_count and so on.
//
//      template <class T>
//      void scale_rows(target, T* x, index_t rows) { ... }
//
// 2. Compile it for every set, in rows.hpp, inside namespace slicesort::detail. If the kernels call
//    fused_lanes, define SLICESORT_TARGET_FMA as well, and select the set with fused_isa.
//
//      #define SLICESORT_TARGET_INCLUDE <slicesort/detail/.../rows.inl>
//      #include <slicesort/detail/host/simd/foreach_target.inl>
//
// 3. Select the set at run time, below it in rows.hpp:
//
//      template <class T>
//      void scale_rows(isa set, T* x, index_t rows) {
//        with_isa(set, [&](auto target) { scale_rows(target, x, rows); });
//      }
#if !defined(SLICESORT_TARGET_INCLUDE)
#  error "define SLICESORT_TARGET_INCLUDE first: the file to compile for every instruction set"
#endif
// clang-format off
namespace portable {
#define SLICESORT_VECTOR_BYTES 16
#if SLICESORT_NEON
#  define SLICESORT_VECTOR_REGISTERS 32
#else
#  define SLICESORT_VECTOR_REGISTERS 16
#endif
#include SLICESORT_TARGET_INCLUDE
#undef SLICESORT_VECTOR_BYTES
#undef SLICESORT_VECTOR_REGISTERS
}  // namespace portable

#if SLICESORT_X86_DISPATCH
#  if defined(SLICESORT_TARGET_FMA)
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2_FMA)
#  else
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2)
#  endif
namespace avx2 {
#  define SLICESORT_VECTOR_BYTES 32
#  define SLICESORT_VECTOR_REGISTERS 16
#  include SLICESORT_TARGET_INCLUDE
#  undef SLICESORT_VECTOR_BYTES
#  undef SLICESORT_VECTOR_REGISTERS
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
#  define SLICESORT_VECTOR_BYTES 64
#  define SLICESORT_VECTOR_REGISTERS 32
#  include SLICESORT_TARGET_INCLUDE
#  undef SLICESORT_VECTOR_BYTES
#  undef SLICESORT_VECTOR_REGISTERS
}  // namespace avx512
SLICESORT_TARGET_END
#endif
#undef SLICESORT_TARGET_INCLUDE
#undef SLICESORT_TARGET_FMA
// clang-format on
