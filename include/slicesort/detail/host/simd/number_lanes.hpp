// SPDX-License-Identifier: Apache-2.0
// Arithmetic in lanes on every instruction set. Products are fused into sums everywhere, so that results
// are the same: AVX2 counts only where FMA is beside it.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/vectors.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

namespace portable {
// a * b + c, rounded once. Clang told -ffast-math would write a product and a sum, unless it does not see
// whom it calls.
template <class A>
SLICESORT_INLINE A fused_lane(A a, A b, A c) {
#if defined(__clang__) && defined(__FAST_MATH__)
  A (*volatile fused)(A, A, A);
  if constexpr (std::is_same_v<A, float>)
    fused = ::fmaf;
  else
    fused = ::fma;
  return fused(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}
template <class V>
SLICESORT_INLINE V fused_lanes(V const& a, V const& b, V const& c) {
  V r{};
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(a[0])); ++i)
    r[i] = fused_lane(a[i], b[i], c[i]);
  return r;
}
#include <slicesort/detail/host/simd/number_lanes.inl>
}  // namespace portable

#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2_FMA)
namespace avx2 {
SLICESORT_INLINE vec<float, 8> fused_lanes(vec<float, 8> const& a, vec<float, 8> const& b,
                                           vec<float, 8> const& c) {
  SLICESORT_AS_WRITTEN
  return __builtin_ia32_vfmaddps256(a, b, c);
}
SLICESORT_INLINE vec<double, 4> fused_lanes(vec<double, 4> const& a, vec<double, 4> const& b,
                                            vec<double, 4> const& c) {
  SLICESORT_AS_WRITTEN
  return __builtin_ia32_vfmaddpd256(a, b, c);
}
#  include <slicesort/detail/host/simd/number_lanes.inl>
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
inline constexpr int current_rounding = 4;
#  if defined(__clang__)
inline constexpr unsigned short all_of_16 = 0xffff;
#  else
inline constexpr short all_of_16 = -1;
#  endif
inline constexpr unsigned char all_of_8 = 0xff;
SLICESORT_INLINE vec<float, 16> fused_lanes(vec<float, 16> const& a, vec<float, 16> const& b,
                                            vec<float, 16> const& c) {
  SLICESORT_AS_WRITTEN
  return __builtin_ia32_vfmaddps512_mask(a, b, c, all_of_16, current_rounding);
}
SLICESORT_INLINE vec<double, 8> fused_lanes(vec<double, 8> const& a, vec<double, 8> const& b,
                                            vec<double, 8> const& c) {
  SLICESORT_AS_WRITTEN
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, all_of_8, current_rounding);
}
#  include <slicesort/detail/host/simd/number_lanes.inl>
}  // namespace avx512
SLICESORT_TARGET_END
#endif

// The set whose kernels to use.
inline isa fused_isa(isa wanted) {
  isa const set = chosen_isa(wanted);
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx2 && !__builtin_cpu_supports("fma")) return isa::portable;
#endif
  return set;
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
