// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic of a device. PTX ISA 9.7.3 "Floating-Point Instructions".
#pragma once

#include "lanes.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace ptx {

// Replaces every NaN by the canonical one, which arithmetic returns.
inline float canonicalize(float x) { return x != x ? bits_as<float>(0x7fffffffu) : x; }
inline double canonicalize(double x) {
  return x != x ? bits_as<double>(std::uint64_t{0x7fffffffffffffff}) : x;
}

// .ftz: flushes subnormal numbers to zero.
inline float flush(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

// Applies f with subnormal arguments and results flushed to zero.
template <auto f>
struct with_flush;
template <class... A, float (*f)(A...)>
struct with_flush<f> {
  static float apply(A... a) { return flush(f(flush(a)...)); }
};
template <class... A, bool (*f)(A...)>
struct with_flush<f> {
  static bool apply(A... a) { return f(flush(a)...); }
};

// Conversions of 16-bit floats. They round to nearest, ties to even, and have no branches, so that
// loops can be vectorized.

inline float bfloat16_to_float(std::uint16_t b) {
  return canonicalize(bits_as<float>(std::uint32_t{b} << 16));
}
inline std::uint16_t float_to_bfloat16(float x) {
  std::uint32_t const bits = bits_as<std::uint32_t>(x);
  std::uint32_t const rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>(x != x ? 0x7fffu : rounded);
}

inline float half_to_float(std::uint16_t h) {
  std::uint32_t const sign = (h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  // The bits of a half as a float are too small by a factor 2^112, also for subnormal numbers.
  float const scaled = bits_as<float>(magnitude << 13) * 0x1p112f;
  float const finite = bits_as<float>(bits_as<std::uint32_t>(scaled) | sign);
  float const infinite = bits_as<float>(sign | 0x7f800000u | magnitude << 13);
  return canonicalize(magnitude < 0x7c00u ? finite : infinite);
}
inline std::uint16_t float_to_half(float x) {
  std::uint32_t const bits = bits_as<std::uint32_t>(x), sign = (bits >> 16) & 0x8000u;
  std::uint32_t const magnitude = bits & 0x7fffffffu;
  // Below 2^-14 the result is a multiple of 2^-24, the last place of a sum with 0.5.
  std::uint32_t const subnormal =
      bits_as<std::uint32_t>(bits_as<float>(magnitude) + 0.5f) - bits_as<std::uint32_t>(0.5f);
  std::uint32_t const rebased = magnitude - (std::uint32_t{127 - 15} << 23);
  std::uint32_t const normal = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  std::uint32_t const finite = magnitude < 0x38800000u ? subnormal : normal;
  // 65520 and larger numbers round to infinity.
  std::uint32_t const rounded_magnitude = magnitude >= 0x477ff000u ? 0x7c00u : finite;
  return static_cast<std::uint16_t>(magnitude > 0x7f800000u ? 0x7fffu : sign | rounded_magnitude);
}

}  // namespace ptx
