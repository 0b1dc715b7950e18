// SPDX-License-Identifier: Apache-2.0
// Products that compilers do not fuse with sums. With FMA instructions (aarch64, x86-64 under
// -march=native), compilers contract `c + a * b` to one rounding instead of two, which changes
// bits. Clang contracts only within an expression, so a separate function is safe. GCC contracts
// across statements, and the flags against it prevent vectorization; so products are multiplied by
// a 1 that is hidden from GCC. Fusing this factor with the sum changes no bit and costs no
// instruction.
#pragma once

#include <slicesort/detail/core/config.hpp>

#if defined(__GNUC__) && !defined(__clang__) && defined(__FP_FAST_FMAF)
#  define SLICESORT_HIDDEN_ONE 1
#else
#  define SLICESORT_HIDDEN_ONE 0
#endif

SLICESORT_DETAIL_BEGIN

// Construct it outside of loops, because the constructor hides the 1.
template <class A>
class unfused {
 public:
#if SLICESORT_HIDDEN_ONE
  unfused() {
#  if defined(__x86_64__)
    __asm__("" : "+x"(hidden_one_));
#  elif defined(__aarch64__)
    __asm__("" : "+w"(hidden_one_));
#  else
    __asm__("" : "+m"(hidden_one_));
#  endif
  }
#endif

  // Returns a * b, rounded.
  SLICESORT_HD A product(A a, A b) const {
#if SLICESORT_HIDDEN_ONE
    return a * b * hidden_one_;
#else
    return a * b;
#endif
  }
  // Returns c + a * b, rounded twice.
  SLICESORT_HD A multiply_add(A a, A b, A c) const { return c + product(a, b); }
  SLICESORT_HD A divide(A a, A b) const { return a / b; }

#if SLICESORT_HIDDEN_ONE
 private:
  A hidden_one_ = 1;
#endif
};

SLICESORT_DETAIL_END

#undef SLICESORT_HIDDEN_ONE
