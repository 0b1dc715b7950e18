// SPDX-License-Identifier: Apache-2.0
// Roundings that are the same in every build. Which NaN an addition or a product makes is up to the
// processor and, where both operands are NaN, to the order in which a compiler put them. So no NaN
// of arithmetic is stored: every one becomes the same, and results have the same bits everywhere.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Positive and quiet, without a payload: that of std::numeric_limits.
template <class T>
inline constexpr bits_t<T> nan_bits = static_cast<bits_t<T>>(dtype_traits<T>::infinity |
                                                             dtype_traits<T>::infinity >> 1);

// A sum in the accumulator's type (or in double), rounded to T.
template <class T, class A>
SLICESORT_HD inline T rounded(A sum) {
  T const nan = bit_cast<T>(nan_bits<T>);
  if constexpr (sizeof(T) == 2) {
    // Conversions to 16 bits ask the same, so that it costs nothing.
    auto const magnitude = bit_cast<bits_t<A>>(sum) & ~sign_bit<bits_t<A>>;
    return magnitude > dtype_traits<A>::infinity ? nan : static_cast<T>(sum);
  } else {
    return sum != sum ? nan : static_cast<T>(sum);
  }
}

// a * b + c, rounded once. Calls the C library: std::fma of floats is a weak function, which a
// linker may take from a unit whose compiler split it. Clang under -ffast-math splits every call
// that it sees; it does not see through a volatile pointer.
template <class A>
SLICESORT_HD inline A fused_multiply_add(A a, A b, A c) {
#if defined(__clang__) && defined(__FAST_MATH__)
  A (*volatile fused)(A, A, A);
  if constexpr (std::is_same_v<A, float>)
    fused = std::fmaf;
  else
    fused = std::fma;
  return fused(a, b, c);
#else
  if constexpr (std::is_same_v<A, float>)
    return std::fmaf(a, b, c);
  else
    return std::fma(a, b, c);
#endif
}

// True if the bits of T are a float's, or its upper half (float and bfloat16): a float unit can
// compare them.
template <class T>
inline constexpr bool is_upper_part_of_float = std::is_same_v<T, float> ||
                                               (sizeof(T) == 2 &&
                                                dtype_traits<T>::infinity ==
                                                    dtype_traits<float>::infinity >> 16);
template <class T>
SLICESORT_HD inline float upper_part_of_float(bits_t<T> value) {
  constexpr int shift = 32 - 8 * static_cast<int>(sizeof(T));
  return bit_cast<float>(static_cast<std::uint32_t>(value) << shift);
}

SLICESORT_DETAIL_END
