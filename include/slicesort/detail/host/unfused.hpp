// SPDX-License-Identifier: Apache-2.0
// Products that stay apart from sums. Where a processor multiplies and adds in one instruction
// (aarch64, x86-64 under -march=native), compilers make `c + a * b` that instruction unasked: one
// rounding where the source has two, and other bits than elsewhere. Clang does so within an
// expression only, so a product in a function of its own is safe. GCC looks beyond, and has no way
// to be told that still lets it vectorize: its products are multiplied by a 1 that it cannot see.
// The 1 may be fused with the sum, which changes no bit and costs no instruction.
#pragma once

#include <slicesort/detail/core/config.hpp>

#if defined(__GNUC__) && !defined(__clang__) && defined(__FP_FAST_FMAF)
#  define SLICESORT_HIDDEN_ONE 1
#else
#  define SLICESORT_HIDDEN_ONE 0
#endif

SLICESORT_DETAIL_BEGIN

// An object lives outside of loops, or the 1 would be made in each turn.
template <class A>
class unfused {
 public:
#if SLICESORT_HIDDEN_ONE
  unfused() {
#  if defined(__x86_64__)
    __asm__("" : "+x"(one_));
#  elif defined(__aarch64__)
    __asm__("" : "+w"(one_));
#  else
    __asm__("" : "+m"(one_));
#  endif
  }
#endif

  // a * b, rounded.
  SLICESORT_HD A product(A a, A b) const {
#if SLICESORT_HIDDEN_ONE
    return a * b * one_;
#else
    return a * b;
#endif
  }
  // c + a * b, rounded twice.
  SLICESORT_HD A multiply_add(A a, A b, A c) const { return c + product(a, b); }

#if SLICESORT_HIDDEN_ONE
 private:
  A one_ = 1;
#endif
};

SLICESORT_DETAIL_END

#undef SLICESORT_HIDDEN_ONE
