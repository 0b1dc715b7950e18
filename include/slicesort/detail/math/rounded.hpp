// SPDX-License-Identifier: Apache-2.0
// Rounding with the same bits in every build. NaN payloads depend on the processor and on the order
// of operands, so every computed NaN is stored as one canonical NaN.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Canonical NaN, as in std::numeric_limits: positive, quiet, without payload.
template <class T>
inline constexpr bits_t<T> nan_bits = static_cast<bits_t<T>>(dtype_traits<T>::infinity |
                                                             dtype_traits<T>::infinity >> 1);

template <class T, class A>
SLICESORT_HD inline T rounded(A value) {
  T const nan = bit_cast<T>(nan_bits<T>);
  if constexpr (sizeof(T) == 2) {
    // No extra cost: the conversion to 16 bits needs this comparison anyway.
    auto const magnitude = bit_cast<bits_t<A>>(value) & ~sign_bit<bits_t<A>>;
    return magnitude > dtype_traits<A>::infinity ? nan : static_cast<T>(value);
  } else {
    return value != value ? nan : static_cast<T>(value);
  }
}

// Returns a * b + c, rounded once. Calls fmaf of the C library, because std::fma of floats is a
// weak symbol: the linker may pick a copy that was compiled as a separate product and sum. Clang
// splits direct calls too under -ffast-math, hence the volatile pointer.
template <class A>
SLICESORT_HD inline A fused_multiply_add(A a, A b, A c) {
#if defined(_WIN32) && defined(__GNUC__) && defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) {  // MinGW's fma and fmaf round twice
    if constexpr (std::is_same_v<A, float>)
      __asm__("vfmadd231ss %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    else
      __asm__("vfmadd231sd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
  }
#endif
#if defined(__clang__) && defined(__FAST_MATH__)
  A (*volatile volatile_fma)(A, A, A);
  if constexpr (std::is_same_v<A, float>)
    volatile_fma = std::fmaf;
  else
    volatile_fma = std::fma;
  return volatile_fma(a, b, c);
#else
  if constexpr (std::is_same_v<A, float>)
    return std::fmaf(a, b, c);
  else
    return std::fma(a, b, c);
#endif
}

// True for float and bfloat16, whose bits are the upper part of a float.
template <class T>
inline constexpr bool is_float_prefix = std::is_same_v<T, float> ||
                                        (sizeof(T) == 2 && dtype_traits<T>::infinity ==
                                                               dtype_traits<float>::infinity >> 16);
template <class T>
SLICESORT_HD inline float widen_to_float(bits_t<T> value) {
  constexpr int shift = 32 - 8 * static_cast<int>(sizeof(T));
  return bit_cast<float>(static_cast<std::uint32_t>(value) << shift);
}

SLICESORT_DETAIL_END
