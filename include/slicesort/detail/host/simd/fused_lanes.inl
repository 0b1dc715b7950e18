// SPDX-License-Identifier: Apache-2.0
// fused_lanes(a, b, c) returns a * b + c in every lane, rounded once. Included by value_lanes.inl
// for each instruction set.

#if SLICESORT_VECTOR_BYTES == 16
#  if SLICESORT_NEON && !defined(__clang__)
// GCC vectorizes the loop below only from -O2 on.
SLICESORT_INLINE vec<float, 4> fused_lanes(vec<float, 4> const& a, vec<float, 4> const& b,
                                           vec<float, 4> const& c) {
  return __builtin_aarch64_fmav4sf(a, b, c);
}
SLICESORT_INLINE vec<double, 2> fused_lanes(vec<double, 2> const& a, vec<double, 2> const& b,
                                            vec<double, 2> const& c) {
  return __builtin_aarch64_fmav2df(a, b, c);
}
#  else
template <class V>
SLICESORT_INLINE V fused_lanes(V const& a, V const& b, V const& c) {
  V r{};
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(a[0])); ++i)
    r[i] = detail::fused_multiply_add(a[i], b[i], c[i]);
  return r;
}
#  endif
#elif SLICESORT_HAS_ELEMENTWISE_FMA
template <class V>
SLICESORT_INLINE V fused_lanes(V const& a, V const& b, V const& c) {
  SLICESORT_AS_WRITTEN
  return __builtin_elementwise_fma(a, b, c);
}
#elif SLICESORT_VECTOR_BYTES == 32
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
#else
inline constexpr int current_rounding_mode = 4;
#  if defined(__clang__)
inline constexpr unsigned short all_16_lanes = 0xffff;
#  else
inline constexpr short all_16_lanes = -1;
#  endif
inline constexpr unsigned char all_8_lanes = 0xff;
SLICESORT_INLINE vec<float, 16> fused_lanes(vec<float, 16> const& a, vec<float, 16> const& b,
                                            vec<float, 16> const& c) {
  SLICESORT_AS_WRITTEN
  return __builtin_ia32_vfmaddps512_mask(a, b, c, all_16_lanes, current_rounding_mode);
}
SLICESORT_INLINE vec<double, 8> fused_lanes(vec<double, 8> const& a, vec<double, 8> const& b,
                                            vec<double, 8> const& c) {
  SLICESORT_AS_WRITTEN
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, all_8_lanes, current_rounding_mode);
}
#endif
