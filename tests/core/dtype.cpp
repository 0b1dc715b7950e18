// SPDX-License-Identifier: Apache-2.0
// Conversions of the 16-bit types: round trip of every bit pattern, and rounding at and beside
// every midpoint, compared with a search for the nearest element.
#include "support/inputs.hpp"
#include "support/numbers.hpp"

#include <doctest/doctest.h>
#include <slicesort/dtype.hpp>

#include <type_traits>

using namespace support;

namespace {

std::uint64_t float_bits(long double value) { return bits_of(static_cast<float>(value)); }

template <class T>
std::uint64_t convert(std::uint64_t bits_of_float) {
  return bits_of(static_cast<T>(from_bits<float>(bits_of_float)));
}
template <class T>
std::uint64_t nearest_to_float(std::uint64_t bits_of_float) {
  std::uint64_t const magnitude = bits_of_float & 0x7fffffffu;
  std::uint64_t const sign = magnitude == bits_of_float ? 0 : format_of<T>().sign();
  return sign | nearest_bits<T>(decode_bits<float>(magnitude).value);
}

}  // namespace

TEST_CASE_TEMPLATE("every pattern converts to the same value in float, and back to the same bits",
                   T, float16, bfloat16) {
  constexpr number_format f = format_of<T>();
  int mismatches = 0;
  for (std::uint64_t bits = 0; bits < 65536; ++bits) {
    auto const as_float = bits_of(static_cast<float>(from_bits<T>(bits)));
    number const decoded = decode_bits<float>(as_float), expected = decode_bits<T>(bits);
    bool const sign_kept = ((as_float >> 31) != 0) == ((bits & f.sign()) != 0);
    mismatches += decoded.kind != expected.kind || decoded.value != expected.value || !sign_kept;
    std::uint64_t const restored = convert<T>(as_float);
    if (expected.kind == number_class::nan)
      mismatches +=
          decode_bits<T>(restored).kind != number_class::nan || ((restored ^ bits) & f.sign()) != 0;
    else
      mismatches += restored != bits;
  }
  CHECK(mismatches == 0);
}

TEST_CASE_TEMPLATE("rounding at every midpoint and one float to each side", T, float16, bfloat16) {
  constexpr number_format f = format_of<T>();
  int mismatches = 0;
  for (std::uint64_t low = 0; low < f.infinity(); ++low) {
    long double const next_value =
        low + 1 == f.infinity() ? std::ldexp(1.0L, f.bias() + 1) : decode_bits<T>(low + 1).value;
    long double const middle = (decode_bits<T>(low).value + next_value) / 2;
    for (std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{0x80000000u}})
      for (int delta : {-1, 0, 1}) {
        auto const neighbor =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(float_bits(middle)) + delta);
        mismatches += convert<T>(sign | neighbor) != nearest_to_float<T>(sign | neighbor);
      }
    // Ties go to the even neighbor, computed without the search.
    mismatches += convert<T>(float_bits(middle)) != low + (low & 1);
  }
  CHECK(mismatches == 0);
}

TEST_CASE_TEMPLATE("random floats round to the nearest", T, float16, bfloat16) {
  random_stream random(2);
  int mismatches = 0;
  for (int i = 0; i < 200000; ++i) {
    std::uint64_t bits = random.bits() & 0xffffffffu;
    if (i % 2 == 0) bits = (bits & 0x80ffffffu) | (0x38000000u + (random.below(16) << 23));
    if (decode_bits<float>(bits).kind != number_class::finite) continue;
    mismatches += convert<T>(bits) != nearest_to_float<T>(bits);
  }
  CHECK(mismatches == 0);
}

TEST_CASE_TEMPLATE("infinities, NaN and overflow", T, float16, bfloat16) {
  constexpr number_format f = format_of<T>();
  CHECK(convert<T>(0x7f800000u) == f.infinity());
  CHECK(convert<T>(0xff800000u) == (f.infinity() | f.sign()));
  CHECK(convert<T>(0x7f7fffffu) == f.infinity());
  CHECK(convert<T>(0x80000000u) == f.sign());
  CHECK(convert<T>(0x00000001u) == 0);
  // A NaN whose payload is in the dropped bits only must not become infinity.
  for (std::uint64_t nan : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0xffffffffu, 0x7fbfffffu}) {
    CHECK(decode_bits<T>(convert<T>(nan)).kind == number_class::nan);
    CHECK(((convert<T>(nan) & f.sign()) != 0) == ((nan >> 31) != 0));
  }
}

TEST_CASE_TEMPLATE("traits agree with the format", T, float, double, float16, bfloat16) {
  using traits = slicesort::dtype_traits<T>;
  static_assert(sizeof(typename traits::bits) == sizeof(T), "bits");
  static_assert(std::is_unsigned_v<typename traits::bits>, "bits");
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivial_v<T>, "storage only");
  static_assert(traits::infinity == format_of<T>().infinity(), "infinity");
  static_assert(std::is_same_v<typename traits::accumulator,
                               std::conditional_t<sizeof(T) == 8, double, float>>,
                "accumulator");
  static_assert(slicesort::detail::is_dtype<T> && !slicesort::detail::is_dtype<int>, "is_dtype");
  CHECK(traits::name[0] != 0);
}
