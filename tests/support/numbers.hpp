// SPDX-License-Identifier: Apache-2.0
// Elements decoded from their bits, independently of the library's order and conversions, for the
// reference implementations. Never stores an infinity, NaN or denormal in a floating type, so
// -ffast-math has no effect.
#pragma once

#include <slicesort/dtype.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace support {

using slicesort::bfloat16;
using slicesort::float16;

struct number_format {
  int exponent_bits, fraction_bits;
  constexpr int total_bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint64_t sign() const { return std::uint64_t{1} << (total_bits() - 1); }
  constexpr std::uint64_t fraction_mask() const { return (std::uint64_t{1} << fraction_bits) - 1; }
  constexpr std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  constexpr std::uint64_t mask() const { return sign() | (sign() - 1); }
};

// Returns the larger value, or NaN if either is NaN, which std::max may ignore.
template <class Real>
Real max_or_nan(Real a, Real b) {
  return std::isnan(a) || a >= b ? a : b;
}

template <class T>
double as_double(T element) {
  return static_cast<double>(static_cast<slicesort::detail::accumulator_t<T>>(element));
}

template <class T>
constexpr number_format format_of();
template <>
constexpr number_format format_of<float>() {
  return {8, 23};
}
template <>
constexpr number_format format_of<double>() {
  return {11, 52};
}
template <>
constexpr number_format format_of<float16>() {
  return {5, 10};
}
template <>
constexpr number_format format_of<bfloat16>() {
  return {8, 7};
}

template <class T>
constexpr char const* type_name();
template <>
constexpr char const* type_name<float>() {
  return "float";
}
template <>
constexpr char const* type_name<double>() {
  return "double";
}
template <>
constexpr char const* type_name<float16>() {
  return "float16";
}
template <>
constexpr char const* type_name<bfloat16>() {
  return "bfloat16";
}
template <>
constexpr char const* type_name<std::uint16_t>() {
  return "uint16";
}
template <>
constexpr char const* type_name<std::int32_t>() {
  return "int32";
}
template <>
constexpr char const* type_name<std::uint32_t>() {
  return "uint32";
}

// Bits of an element of at most eight bytes, on little-endian hosts.
template <class T>
std::uint64_t bits_of(T const& value) {
  static_assert(sizeof(T) <= 8, "at most 64 bits");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// A decoded element, ordered by class, then by value. Both zeros decode to the value 0.
enum class number_class { minus_infinity, finite, plus_infinity, nan };
struct number {
  number_class kind = number_class::finite;
  long double value = 0;
};

// 2^exponent, from a table for speed.
inline long double power_of_two(int exponent) {
  constexpr int min_exponent = -1100;
  static std::vector<long double> const powers = [] {
    std::vector<long double> table;
    for (int e = min_exponent; e <= 1100; ++e) table.push_back(std::ldexp(1.0L, e));
    return table;
  }();
  return powers[static_cast<std::size_t>(exponent - min_exponent)];
}

template <class T>
number decode_bits(std::uint64_t bits) {
  constexpr number_format f = format_of<T>();
  bool const negative = (bits & f.sign()) != 0;
  std::uint64_t const magnitude = bits & ~f.sign();
  if (magnitude > f.infinity()) return {number_class::nan, 0};
  if (magnitude == f.infinity())
    return {negative ? number_class::minus_infinity : number_class::plus_infinity, 0};
  int const exponent = static_cast<int>(magnitude >> f.fraction_bits);
  std::uint64_t significand = magnitude & f.fraction_mask();
  if (exponent != 0) significand |= f.fraction_mask() + 1;
  int const scale = (exponent == 0 ? 1 : exponent) - f.bias() - f.fraction_bits;
  long double const value = static_cast<long double>(significand) * power_of_two(scale);
  return {number_class::finite, negative ? -value : value};
}
template <class T>
number decode(T const& element) {
  return decode_bits<T>(bits_of(element));
}

// Returns the element, or the NaN that operators store instead of any NaN.
template <class T>
T with_canonical_nan(T const& element) {
  constexpr number_format f = format_of<T>();
  std::uint64_t const quiet = f.infinity() | (f.fraction_mask() + 1) / 2;
  return decode(element).kind == number_class::nan ? from_bits<T>(quiet) : element;
}

inline bool less(number const& a, number const& b) {
  if (a.kind != b.kind) return static_cast<int>(a.kind) < static_cast<int>(b.kind);
  return a.kind == number_class::finite && a.value < b.value;
}
// True if a is strictly before b in an ascending or descending column.
inline bool before(number const& a, number const& b, bool ascending) {
  return ascending ? less(a, b) : less(b, a);
}

// Rounds a finite value to a 16-bit format, ties to even, by bisection of the format's decoded
// values, unlike the library.
template <class T>
std::uint64_t nearest_bits(long double value) {
  constexpr number_format f = format_of<T>();
  std::uint64_t const sign = value < 0 ? f.sign() : 0;
  long double const magnitude = value < 0 ? -value : value;
  std::uint64_t low = 0,
                high = f.infinity();  // decode(low) <= magnitude, infinity stands for 2^emax
  auto const value_of = [&](std::uint64_t bits) {
    return bits == f.infinity() ? std::ldexp(1.0L, f.bias() + 1) : decode_bits<T>(bits).value;
  };
  if (magnitude >= value_of(high)) return sign | high;
  while (high - low > 1) {
    std::uint64_t const middle = low + (high - low) / 2;
    (value_of(middle) <= magnitude ? low : high) = middle;
  }
  long double const distance_below = magnitude - value_of(low),
                    distance_above = value_of(high) - magnitude;
  bool const round_up =
      distance_above < distance_below || (distance_above == distance_below && (high & 1) == 0);
  return sign | (round_up ? high : low);
}

}  // namespace support
