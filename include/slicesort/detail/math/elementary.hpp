// SPDX-License-Identifier: Apache-2.0
// Elementary functions of scalars (elementary.inl).
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>

SLICESORT_DETAIL_BEGIN

// `Arithmetic` is a block, or another type with fused_multiply_add(a, b, c) and divide(a, b).
template <class Arithmetic, class T>
struct scalar_values {
  using A = T;
  using value = T;
  using integer = typename binary_format<T>::integer;
  using bits = integer;
  static constexpr int count = 1;

  Arithmetic& arithmetic;

  SLICESORT_HD_INLINE A fused(A a, A b, A c) const {
    return arithmetic.fused_multiply_add(a, b, c);
  }
  SLICESORT_HD_INLINE A divide(A a, A b) const { return arithmetic.divide(a, b); }
  SLICESORT_HD_INLINE A load(A const* from) const { return *from; }
  SLICESORT_HD_INLINE void store(A a, A* to) const { *to = a; }
  SLICESORT_HD_INLINE A splat(A a) const { return a; }
  SLICESORT_HD_INLINE bits splat_bits(bits b) const { return b; }
  SLICESORT_HD_INLINE bits bits_of(A a) const { return bit_cast<bits>(a); }
  SLICESORT_HD_INLINE A value_of(bits b) const { return bit_cast<A>(b); }
  SLICESORT_HD_INLINE A max(A a, A b) const { return a < b ? b : a; }
  SLICESORT_HD_INLINE bits positive(A a) const { return ~(static_cast<bits>(a > A(0)) + ~bits{0}); }
};

#define SLICESORT_MATH_INLINE SLICESORT_HD_INLINE
// clang-format off
#include <slicesort/detail/math/elementary.inl>
// clang-format on
#undef SLICESORT_MATH_INLINE

// Arithmetic of scalars, of the standard library.
template <class A>
struct library_arithmetic {
  SLICESORT_HD_INLINE A fused_multiply_add(A a, A b, A c) const {
    return detail::fused_multiply_add(a, b, c);
  }
  SLICESORT_HD_INLINE A divide(A a, A b) const { return a / b; }
};

SLICESORT_DETAIL_END
