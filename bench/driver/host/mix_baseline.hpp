// SPDX-License-Identifier: Apache-2.0
// What sparse_mix is measured against: the same sums factor by factor over whole rows of the tensor, and as
// many multiply-adds as it takes with nothing to load. Both use the instruction set that the library uses.
#pragma once

#include "driver/case.hpp"

#include <slicesort/sparse_mix.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

namespace bench {

namespace portable {
#define SLICESORT_BENCH_SET portable
#include "mix_baseline.inl"
#undef SLICESORT_BENCH_SET
}  // namespace portable
#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2_FMA)
namespace avx2 {
#  define SLICESORT_BENCH_SET avx2
#  include "mix_baseline.inl"
#  undef SLICESORT_BENCH_SET
}  // namespace avx2
SLICESORT_TARGET_END
SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
#  define SLICESORT_BENCH_SET avx512
#  include "mix_baseline.inl"
#  undef SLICESORT_BENCH_SET
}  // namespace avx512
SLICESORT_TARGET_END
#endif

// f(the baseline of the set that the library would choose).
template <class T, class F>
void with_mix_baseline(ss::isa wanted, F const& f) {
  ss::isa const set = ss::impl::fused_isa(wanted);
#if SLICESORT_X86_DISPATCH
  if (set == ss::isa::avx512) return f(avx512::mix_baseline<T>{});
  if (set == ss::isa::avx2) return f(avx2::mix_baseline<T>{});
#endif
  (void)set;
  f(portable::mix_baseline<T>{});
}

}  // namespace bench
