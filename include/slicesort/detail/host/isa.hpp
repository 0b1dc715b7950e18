// SPDX-License-Identifier: Apache-2.0
// Instruction sets that the compiler and the processor support.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/exec.hpp>

// On aarch64, `portable` uses the baseline's NEON: vectors of 16 bytes like SSE2, but twice as many
// registers, and fused multiply-adds.
#if SLICESORT_GNU_VECTORS && defined(__aarch64__)
#  define SLICESORT_NEON 1
#else
#  define SLICESORT_NEON 0
#endif

#if SLICESORT_GNU_VECTORS && defined(__x86_64__)
#  define SLICESORT_X86_DISPATCH 1
#else
#  define SLICESORT_X86_DISPATCH 0
#endif

SLICESORT_DETAIL_BEGIN

inline bool is_isa_available(isa set) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx2) return __builtin_cpu_supports("avx2");
  if (set == isa::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return set == isa::best || set == isa::portable;
}

// Resolves isa::best to the widest set that the processor supports.
inline isa resolve_isa(isa set) {
  if (set != isa::best) return set;
  if (is_isa_available(isa::avx512)) return isa::avx512;
  return is_isa_available(isa::avx2) ? isa::avx2 : isa::portable;
}

// Instruction set for kernels with fused multiply-adds. AVX2 kernels also require FMA.
inline isa fused_isa(isa requested) {
  isa const set = resolve_isa(requested);
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx2 && !__builtin_cpu_supports("fma")) return isa::portable;
#endif
  return set;
}

// Clears the upper halves of the vector registers. While they are in use, Intel processors run code
// without AVX up to 70 times as slowly. Compilers clear them after code for AVX, but GCC only if it
// optimizes for speed (not at -O0, -O1 and -Os).
#if SLICESORT_X86_DISPATCH
__attribute__((target("avx"))) inline void run_vzeroupper() { __builtin_ia32_vzeroupper(); }
#endif
inline void clear_upper_halves() {
#if SLICESORT_X86_DISPATCH
  if (is_isa_available(isa::avx2)) run_vzeroupper();
#endif
}

// True if code for isa::avx512 can use AVX512-BF16.
inline bool has_bfloat16_pairs() {
#if SLICESORT_BFLOAT16_PAIRS
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

inline char const* isa_name(isa set) {
  switch (set) {
    case isa::portable:
      return "portable";
    case isa::avx2:
      return "avx2";
    case isa::avx512:
      return "avx512";
    case isa::best:
      break;
  }
  return "best";
}

SLICESORT_DETAIL_END
