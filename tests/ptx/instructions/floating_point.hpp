// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers as the device has them. PTX ISA 9.7.3 "Floating-Point Instructions".
#pragma once

#include "lanes.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace ptx {

// The one NaN that arithmetic gives, whatever NaN went in.
inline float canonical(float x) { return x != x ? bits_as<float>(0x7fffffffu) : x; }
inline double canonical(double x) {
  return x != x ? bits_as<double>(std::uint64_t{0x7fffffffffffffff}) : x;
}

// .ftz: subnormal numbers count as zero, and become zero.
inline float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

// f(flush to zero).
template <auto f>
struct flushing;
template <class... A, float (*f)(A...)>
struct flushing<f> {
  static float of(A... a) { return flushed(f(flushed(a)...)); }
};
template <class... A, bool (*f)(A...)>
struct flushing<f> {
  static bool of(A... a) { return f(flushed(a)...); }
};

float float_of_half(std::uint16_t h);
float float_of_bfloat(std::uint16_t b);
// To nearest, ties to even.
std::uint16_t half_of_float(float x);
std::uint16_t bfloat_of_float(float x);

}  // namespace ptx
