// SPDX-License-Identifier: Apache-2.0
// Which instruction sets this compiler can emit and this processor can run.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/exec.hpp>

// On aarch64 the baseline has NEON: vectors of 16 bytes as of SSE2, but twice the registers, and
// fused multiply-adds. `portable` is compiled for that, so it needs no set of its own.
#if SLICESORT_GNU_VECTORS && defined(__aarch64__)
#  define SLICESORT_NEON 1
#else
#  define SLICESORT_NEON 0
#endif

// Code for a newer processor inside a binary for the baseline one.
#if SLICESORT_GNU_VECTORS && defined(__x86_64__)
#  define SLICESORT_X86_DISPATCH 1
#else
#  define SLICESORT_X86_DISPATCH 0
#endif

SLICESORT_DETAIL_BEGIN

inline bool isa_available(isa set) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx2) return __builtin_cpu_supports("avx2");
  if (set == isa::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return set == isa::best || set == isa::portable;
}

// The instruction set to use: the one asked for, or the widest that the processor has.
inline isa chosen_isa(isa set) {
  if (set != isa::best) return set;
  if (isa_available(isa::avx512)) return isa::avx512;
  return isa_available(isa::avx2) ? isa::avx2 : isa::portable;
}

// The set whose kernels multiply and add in one rounding: AVX2 counts only where FMA is beside it.
inline isa fused_isa(isa wanted) {
  isa const set = chosen_isa(wanted);
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx2 && !__builtin_cpu_supports("fma")) return isa::portable;
#endif
  return set;
}

// Whether code for isa::avx512 may use the instructions of AVX512-BF16.
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
