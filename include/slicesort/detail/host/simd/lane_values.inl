// SPDX-License-Identifier: Apache-2.0
// SIMD lanes as the `Ops` of math/elementary.inl. Included once per instruction set.

#define SLICESORT_MATH_INLINE SLICESORT_INLINE
// clang-format off
#include <slicesort/detail/math/elementary.inl>
// clang-format on
#undef SLICESORT_MATH_INLINE

template <class T>
struct lane_values {
  using A = T;
  using lanes = value_lanes<A>;
  using value = typename lanes::V;
  using integer = typename detail::binary_format<A>::integer;
  using bits = vec<integer, lanes::count>;
  static constexpr int count = lanes::count;

  SLICESORT_INLINE value fused(value const& a, value const& b, value const& c) const {
    return fused_lanes(a, b, c);
  }
  SLICESORT_INLINE value divide(value const& a, value const& b) const { return divide_lanes(a, b); }
  SLICESORT_INLINE value load(A const* from) const { return load_lanes<value>(from); }
  SLICESORT_INLINE void store(value const& a, A* to) const { store_lanes(to, a); }
  SLICESORT_INLINE value splat(A a) const { return lanes::splat(a); }
  SLICESORT_INLINE bits splat_bits(integer b) const { return broadcast<bits>(b); }
  SLICESORT_INLINE bits bits_of(value const& a) const { return load_lanes<bits>(&a); }
  SLICESORT_INLINE value value_of(bits const& b) const { return load_lanes<value>(&b); }
  SLICESORT_INLINE value max(value const& a, value const& b) const { return max_lanes(a, b); }
  SLICESORT_INLINE bits positive(value const& a) const {
    // Positive values have bits in 1 .. infinity.
    return greater(splat_bits(dtype_traits<A>::infinity), bits_of(a) + splat_bits(~integer{0}));
  }
};
