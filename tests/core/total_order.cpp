// SPDX-License-Identifier: Apache-2.0
// Keys of the total order, compared with decoded numbers: all pairs of the 16-bit types (a sample
// unless SLICESORT_FULL=1), all neighbors of float, and corner cases of float and double.
#include "slicing_sort/check.hpp"

#include <doctest/doctest.h>
#include <slicesort/detail/math/total_order.hpp>

using namespace support;

namespace {

template <class T>
auto key_of(std::uint64_t bits) {
  return ss::detail::sortable_key<T>(static_cast<typename ss::dtype_traits<T>::bits>(bits));
}

template <class T>
bool key_agrees(std::uint64_t a, std::uint64_t b) {
  number const x = decode_bits<T>(a), y = decode_bits<T>(b);
  return (key_of<T>(a) < key_of<T>(b)) == less(x, y) && (key_of<T>(b) < key_of<T>(a)) == less(y, x);
}

// A 16-bit element as a double with the specified order. NaN and infinities become finite numbers,
// so that the comparison vectorizes and no flag changes it.
template <class T>
double ordered_double(std::uint64_t bits) {
  number const n = decode_bits<T>(bits);
  switch (n.kind) {
    case number_class::minus_infinity:
      return -1e200;
    case number_class::plus_infinity:
      return 1e200;
    case number_class::nan:
      return 1e300;
    case number_class::finite:
      break;
  }
  return static_cast<double>(n.value);
}

}  // namespace

TEST_CASE_TEMPLATE("all pairs of patterns of a 16-bit type", T, float16, bfloat16) {
  std::vector<double> values(65536);
  std::vector<std::uint16_t> keys(65536);
  for (std::size_t i = 0; i < 65536; ++i) {
    values[i] = ordered_double<T>(i);
    keys[i] = key_of<T>(i);
  }
  bool const full = full_suite();
  if (!full) MESSAGE("sampled; SLICESORT_FULL=1 compares all 2^32 pairs");
  random_stream random(1);
  std::size_t const rows = full ? 65536 : 600;
  std::uint64_t mismatches = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    std::size_t const a = full ? i : random.below(65536);
    double const value_a = values[a];
    std::uint16_t const key_a = keys[a];
    unsigned row_mismatches = 0;
    for (std::size_t b = 0; b < 65536; ++b)
      row_mismatches += static_cast<unsigned>((key_a < keys[b]) != (value_a < values[b])) +
                        static_cast<unsigned>((key_a > keys[b]) != (value_a > values[b]));
    mismatches += row_mismatches;
  }
  CHECK(mismatches == 0);
}

TEST_CASE_TEMPLATE("pairs of corners, and random pairs", T, float, double, float16, bfloat16) {
  constexpr number_format f = format_of<T>();
  std::vector<std::uint64_t> corners;
  for (std::uint64_t sign : {std::uint64_t{0}, f.sign()})
    for (std::uint64_t around :
         {std::uint64_t{2}, f.fraction_mask(), f.infinity() / 2, f.infinity(), f.sign() - 3})
      for (std::uint64_t step = 0; step < 5; ++step) corners.push_back(sign | (around + step - 2));
  int mismatches = 0;
  for (std::uint64_t a : corners)
    for (std::uint64_t b : corners) mismatches += !key_agrees<T>(a, b);
  random_stream random(3);
  for (int i = 0; i < 100000; ++i) {
    std::uint64_t const a = random.bits() & f.mask(), b = random.bits() & f.mask();
    mismatches += !key_agrees<T>(a, b) +
                  !key_agrees<T>(a, a ^ (std::uint64_t{1}
                                         << random.below(static_cast<unsigned>(f.total_bits()))));
  }
  CHECK(mismatches == 0);
}

TEST_CASE("keys increase from each float to the next") {
  // Neighbors among positive and among negative floats; by transitivity this covers all pairs.
  std::uint32_t const step = full_suite() ? 1 : 4099;
  std::uint64_t mismatches = 0;
  for (std::uint32_t i = 0; i < 0x7f800000u; i += step) {
    mismatches += key_of<float>(i + 1) <= key_of<float>(i);
    mismatches += key_of<float>(0x80000000u | (i + 1)) >= key_of<float>(0x80000000u | i);
  }
  CHECK(key_of<float>(0) == key_of<float>(0x80000000u));
  for (std::uint32_t i = 0x7f800001u; i < 0x80000000u; i += step)
    mismatches += key_of<float>(i) != 0xffffffffu || key_of<float>(0x80000000u | i) != 0xffffffffu;
  CHECK(key_of<float>(0x7f800000u) < 0xffffffffu);
  CHECK(mismatches == 0);
}

TEST_CASE_TEMPLATE("keys of a descending column reverse the order and preserve ties", T, float,
                   double, float16, bfloat16) {
  random_stream random(5);
  int mismatches = 0;
  for (int i = 0; i < 20000; ++i) {
    T const a = random.below(3) == 0 ? random_special<T>(random) : from_double<T>(random.normal());
    T const b = random.below(3) == 0 ? random_special<T>(random) : from_double<T>(random.normal());
    auto const key_a = ss::detail::ordered_key(a, false), key_b = ss::detail::ordered_key(b, false);
    mismatches += (key_a < key_b) != before(decode(a), decode(b), false);
    mismatches += (key_a == key_b) != (!less(decode(a), decode(b)) && !less(decode(b), decode(a)));
  }
  CHECK(mismatches == 0);
}
