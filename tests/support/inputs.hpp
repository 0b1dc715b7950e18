// SPDX-License-Identifier: Apache-2.0
// Test data with the same bits on every machine: counter-based random numbers, also used by the
// benches, and columns that are difficult to sort.
#pragma once

#include "numbers.hpp"

#include <slicesort/detail/math/counter_hash.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace support {

// Sequence of the library's counter-based generator.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) : seed_(slicesort::detail::counter_hash64(seed, 0)) {}

  static constexpr std::uint64_t mix(std::uint64_t z) { return slicesort::detail::mix64(z); }
  std::uint64_t bits() { return slicesort::detail::counter_hash64(seed_, counter_++); }
  // Returns an integer in [0, n), n > 0, with a negligible bias.
  std::uint64_t below(std::uint64_t n) { return bits() % n; }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double normal() {  // sum of twelve uniform numbers: portable, unlike std::normal_distribution
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += unit();
    return sum;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

// Returns number `position` of the SplitMix64 sequence that starts from `seed`.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position) {
  return random_stream::mix(seed + (position + 1) * 0x9e3779b97f4a7c15u);
}
// Returns a number in [0, 1) with 53 bits.
inline double random_uniform(std::uint64_t seed, std::uint64_t position) {
  return static_cast<double>(random_bits(seed, position) >> 11) * 0x1p-53;
}
// Two standard normal numbers by Box-Muller, from positions 2 * pair and 2 * pair + 1.
struct normal_pair {
  double even, odd;
};
inline normal_pair random_normals(std::uint64_t seed, std::uint64_t pair) {
  double const radius = std::sqrt(-2.0 * std::log(1.0 - random_uniform(seed, 2 * pair)));
  double const angle = 6.283185307179586 * random_uniform(seed, 2 * pair + 1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Returns a hash of the text, the same with every standard library.
inline std::uint64_t hash_of(std::string const& text) {
  std::uint64_t hash = text.size();
  for (char const c : text) hash = random_bits(hash ^ static_cast<unsigned char>(c), 0);
  return hash;
}

enum class input_kind {
  // Ordinary numbers.
  normal,
  uniform,
  few_unique,
  relu,  // half exact zeros
  sorted,
  reversed,
  constant,
  organ_pipe,
  one_pair,    // two equal rows, the others distinct
  rare_pairs,  // a few pairs and triples among distinct rows, near and far apart
  two_valued,
  runs,       // runs of 1, 2, 3, ... equal values, shuffled
  long_runs,  // runs around the powers of two, shuffled
  // Special numbers.
  signed_zeros,   // only -0 and +0
  zero_among,     // ordinary, with a -0 and a +0
  nan_among,      // ordinary, with one NaN
  all_nan,        // random payloads and signs
  specials,       // NaN payloads, infinities, zeros, denormals, extremes and ordinary numbers
  rare_specials,  // one row in sixteen special, the others tie-heavy
  extremes,       // the largest and smallest numbers, which may be confused with padding
  denormals,
  random_bits
};
inline constexpr int ordinary_kinds = static_cast<int>(input_kind::signed_zeros);
inline constexpr int all_kinds = static_cast<int>(input_kind::random_bits) + 1;

inline char const* kind_name(input_kind kind) {
  constexpr char const* names[] = {
      "normal",        "uniform",      "few_unique", "relu",       "sorted",     "reversed",
      "constant",      "organ_pipe",   "one_pair",   "rare_pairs", "two_valued", "runs",
      "long_runs",     "signed_zeros", "zero_among", "nan_among",  "all_nan",    "specials",
      "rare_specials", "extremes",     "denormals",  "random_bits"};
  static_assert(sizeof names / sizeof names[0] == all_kinds, "a name for every kind");
  return names[static_cast<int>(kind)];
}

// Finite elements in order: ordinal 0 is +0, 1 the smallest positive number, -1 the largest
// negative, ... Neighboring ordinals are neighboring keys. Clamped to the finite range.
template <class T>
T from_ordinal(std::int64_t ordinal) {
  constexpr number_format f = format_of<T>();
  std::int64_t const last = static_cast<std::int64_t>(f.infinity()) - 1;
  std::int64_t const i = std::clamp(ordinal, -last, last);
  return from_bits<T>(i < 0 ? f.sign() | static_cast<std::uint64_t>(-i)
                            : static_cast<std::uint64_t>(i));
}

template <class T>
T from_double(double value) {
  return static_cast<T>(static_cast<float>(value));
}
template <>
inline double from_double<double>(double value) {
  return value;
}

template <class T>
T minus_infinity() {
  return from_bits<T>(format_of<T>().sign() | format_of<T>().infinity());
}
// A NaN other than the canonical one.
template <class T>
T nan_value() {
  return from_bits<T>(format_of<T>().mask() >> 1);
}
template <class T>
T random_nan(random_stream& random) {
  constexpr number_format f = format_of<T>();
  std::uint64_t const payload = 1 + random.below(f.fraction_mask());
  return from_bits<T>(f.infinity() | payload | (random.bits() & f.sign()));
}

template <class T>
T random_special(random_stream& random) {
  constexpr number_format f = format_of<T>();
  std::uint64_t const sign = random.bits() & f.sign();
  switch (random.below(8)) {
    case 0:
      return from_bits<T>(f.infinity() | sign);
    case 1:
    case 2:
      return from_bits<T>(sign);
    case 3:
      return from_bits<T>(sign | (1 + random.below(f.fraction_mask())));  // denormal
    case 4:
      return from_bits<T>(sign | (f.infinity() - 1));  // largest finite
    case 5:
      return from_bits<T>(f.mask() ^ (random.bits() & f.sign()));  // all ones
    default:
      return random_nan<T>(random);
  }
}

template <class T>
void shuffle_rows(std::vector<T>& column, random_stream& random) {
  for (std::size_t i = column.size(); i > 1; --i) std::swap(column[i - 1], column[random.below(i)]);
}

namespace inputs_detail {

// Distinct neighboring elements in random order, if the format has enough.
template <class T>
std::vector<T> distinct(std::size_t n, random_stream& random) {
  std::vector<T> column(n);
  for (std::size_t i = 0; i < n; ++i)
    column[i] = from_ordinal<T>(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(n / 2));
  shuffle_rows(column, random);
  return column;
}

template <class T, class NextLength>
std::vector<T> shuffled_runs(std::size_t n, random_stream& random, NextLength next_length) {
  std::vector<T> column(n);
  std::int64_t value = -static_cast<std::int64_t>(random.below(40));
  for (std::size_t i = 0; i < n; ++value)
    for (std::size_t k = next_length(); k > 0 && i < n; --k) column[i++] = from_ordinal<T>(value);
  shuffle_rows(column, random);
  return column;
}

}  // namespace inputs_detail

template <class T>
std::vector<T> make_column(input_kind kind, std::size_t n, std::uint64_t seed) {
  using namespace inputs_detail;
  random_stream random(seed * 1000003 + static_cast<std::uint64_t>(kind));
  std::vector<T> column(n);
  auto const fill = [&](auto make) {
    for (std::size_t i = 0; i < n; ++i) column[i] = make(i);
    return column;
  };
  auto const ordinary = [&](std::size_t) { return from_double<T>(random.normal()); };
  auto const random_row = [&]() -> T& { return column[random.below(n)]; };
  std::size_t length = 0;
  switch (kind) {
    case input_kind::normal:
      return fill(ordinary);
    case input_kind::uniform:
      return fill([&](std::size_t) { return from_double<T>(random.unit()); });
    case input_kind::few_unique:
      return fill(
          [&](std::size_t) { return from_double<T>(static_cast<double>(random.below(9)) - 3.5); });
    case input_kind::relu:
      return fill([&](std::size_t) { return from_double<T>(std::max(0.0, random.normal())); });
    case input_kind::sorted:
      return fill(
          [&](std::size_t i) { return from_ordinal<T>(static_cast<std::int64_t>(i / 2) - 7); });
    case input_kind::reversed:
      return fill(
          [&](std::size_t i) { return from_ordinal<T>(7 - static_cast<std::int64_t>(i / 2)); });
    case input_kind::constant: {
      T const value = ordinary(0);
      return fill([&](std::size_t) { return value; });
    }
    case input_kind::organ_pipe:
      return fill([&](std::size_t i) {
        return from_ordinal<T>(100 + static_cast<std::int64_t>(std::min(i, n - 1 - i)));
      });
    case input_kind::one_pair:
    case input_kind::rare_pairs: {
      column = distinct<T>(n, random);
      std::size_t const copies = kind == input_kind::one_pair ? 1 : 2 + n / 50;
      for (std::size_t i = 0; n > 1 && i < copies; ++i) {
        std::size_t const row = random.below(n);
        T const value = column[row];
        if (random.below(2) == 0)
          column[(row + 1) % n] = value;
        else
          random_row() = value;
        if (kind == input_kind::rare_pairs && random.below(3) == 0) random_row() = value;
      }
      return column;
    }
    case input_kind::two_valued:
      return fill([&](std::size_t) { return from_double<T>(random.below(2) == 0 ? 1.0 : -2.0); });
    case input_kind::runs:
      return shuffled_runs<T>(n, random, [&] { return ++length; });
    case input_kind::long_runs:
      return shuffled_runs<T>(n, random, [&] {
        std::size_t const power = std::size_t{1} << random.below(n < 64 ? 5 : 12);
        return power + random.below(3) - (power > 1 ? 1 : 0);
      });
    case input_kind::signed_zeros:
      return fill([&](std::size_t) { return from_bits<T>(random.bits() & format_of<T>().sign()); });
    case input_kind::zero_among:
      fill(ordinary);
      if (n > 0) random_row() = from_bits<T>(0);
      if (n > 0) random_row() = from_bits<T>(format_of<T>().sign());
      return column;
    case input_kind::nan_among:
      fill(ordinary);
      if (n > 0) random_row() = random_nan<T>(random);
      return column;
    case input_kind::all_nan:
      return fill([&](std::size_t) { return random_nan<T>(random); });
    case input_kind::specials:
      return fill([&](std::size_t i) {
        return random.below(4) == 0 ? ordinary(i) : random_special<T>(random);
      });
    case input_kind::rare_specials:
      return fill([&](std::size_t) {
        if (random.below(16) == 0) return random_special<T>(random);
        return from_double<T>(static_cast<double>(random.below(2 + n / 4)));
      });
    case input_kind::extremes:
      return fill([&](std::size_t) {
        constexpr number_format f = format_of<T>();
        std::uint64_t const sign = random.bits() & f.sign();
        return from_bits<T>(
            sign | (random.below(5) == 0 ? f.mask() >> 1 : f.infinity() - random.below(3)));
      });
    case input_kind::denormals:
      return fill([&](std::size_t) {
        std::uint64_t const sign = random.bits() & format_of<T>().sign();
        return from_bits<T>(sign | random.below(n / 2 + 2));
      });
    case input_kind::random_bits:
      break;
  }
  return fill([&](std::size_t) { return from_bits<T>(random.bits() & format_of<T>().mask()); });
}

}  // namespace support
