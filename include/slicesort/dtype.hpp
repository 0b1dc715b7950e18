// SPDX-License-Identifier: Apache-2.0
/// Element types: `float`, `double`, and the 16-bit storage types `float16` (IEEE binary16) and
/// `bfloat16`. To add a type of the same format, specialize `dtype_traits`.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <cstdint>
#include <cstring>

SLICESORT_DETAIL_BEGIN

// Takes its argument by value, because nvcc loads single bytes through a reference to device
// memory.
template <class To, class From>
SLICESORT_HD inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast: sizes differ");
  To to;
  std::memcpy(static_cast<void*>(&to), &from, sizeof(To));
  return to;
}

// Rounds to nearest, ties to even. A NaN keeps its sign and high payload and becomes quiet.
SLICESORT_HD inline std::uint16_t float_to_bfloat16_bits(float value) {
  std::uint32_t const u = bit_cast<std::uint32_t>(value);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((u >> 16) | 0x40u);
  return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

SLICESORT_HD inline std::uint16_t float_to_float16_bits(float value) {
  std::uint32_t const u = bit_cast<std::uint32_t>(value);
  std::uint32_t const sign = (u >> 16) & 0x8000u;
  std::uint32_t const magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to inf
  std::uint32_t result, dropped, half;
  if (magnitude >= 0x38800000u) {  // normal: drop 13 bits, rebias the exponent
    result = (magnitude - 0x38000000u) >> 13;
    dropped = magnitude & 0x1fffu;
    half = 0x1000u;
  } else {  // subnormal or zero: shift the significand with its hidden bit
    std::uint32_t const shift = 126u - (magnitude >> 23);
    if (shift > 24u) return static_cast<std::uint16_t>(sign);
    std::uint32_t const significand = (magnitude & 0x7fffffu) | 0x800000u;
    result = significand >> shift;
    dropped = significand & ((1u << shift) - 1u);
    half = 1u << (shift - 1u);
  }
  if (dropped > half || (dropped == half && (result & 1u))) ++result;
  return static_cast<std::uint16_t>(sign | result);
}

SLICESORT_HD inline float float16_bits_to_float(std::uint16_t bits) {
  std::uint32_t const sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t const magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude >= 0x0400u) return bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  // Subnormals are magnitude * 2^-24, which is exact in float.
  float const scaled = static_cast<float>(magnitude) * 5.9604644775390625e-8f;
  return bit_cast<float>(sign | bit_cast<std::uint32_t>(scaled));
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// IEEE 754 binary16, for storage only: arithmetic is in `float`.
struct float16 {
  std::uint16_t bits;

  SLICESORT_ABI_TAG float16() = default;
  SLICESORT_HD_ABI_TAG explicit float16(float value) : bits(detail::float_to_float16_bits(value)) {}
  SLICESORT_HD_ABI_TAG explicit operator float() const {
    return detail::float16_bits_to_float(bits);
  }
};

/// bfloat16 (the upper half of a binary32), for storage only: arithmetic is in `float`.
struct bfloat16 {
  std::uint16_t bits;

  SLICESORT_ABI_TAG bfloat16() = default;
  SLICESORT_HD_ABI_TAG explicit bfloat16(float value)
      : bits(detail::float_to_bfloat16_bits(value)) {}
  SLICESORT_HD_ABI_TAG explicit operator float() const {
    return detail::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// Properties of an element type. `half_types.hpp` adds the 16-bit types of compilers and of CUDA.
/// To use another type, such as a framework's bfloat16, derive a specialization from the one of the
/// same format:
/// `template <> struct slicesort::dtype_traits<my_half> :
/// slicesort::dtype_traits<slicesort::float16> {};` The type must be trivially copyable, have the
/// size of that format, and convert from and to `float` by `static_cast`.
///
/// Members: `bits` (the unsigned integer of the same size), `accumulator` (the type of sums),
/// `infinity` (the bits of +inf; any larger magnitude is a NaN), `name`.
template <class T>
struct dtype_traits;

template <>
struct dtype_traits<float> {
  using bits = std::uint32_t;
  using accumulator = float;
  static constexpr bits infinity = 0x7f800000u;
  static constexpr char const* name = "f32";
};

template <>
struct dtype_traits<double> {
  using bits = std::uint64_t;
  using accumulator = double;
  static constexpr bits infinity = 0x7ff0000000000000u;
  static constexpr char const* name = "f64";
};

template <>
struct dtype_traits<float16> {
  using bits = std::uint16_t;
  using accumulator = float;
  static constexpr bits infinity = 0x7c00u;
  static constexpr char const* name = "f16";
};

template <>
struct dtype_traits<bfloat16> {
  using bits = std::uint16_t;
  using accumulator = float;
  static constexpr bits infinity = 0x7f80u;
  static constexpr char const* name = "bf16";
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <class T, class = void>
inline constexpr bool is_dtype = false;
template <class T>
inline constexpr bool is_dtype<T, decltype(void(dtype_traits<T>::infinity))> = true;

template <class T>
using accumulator_t = typename dtype_traits<T>::accumulator;
template <class T>
using bits_t = typename dtype_traits<T>::bits;

SLICESORT_DETAIL_END
