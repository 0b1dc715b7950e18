// SPDX-License-Identifier: Apache-2.0
// Random numbers without state: the value at a position depends on the seed and the position alone,
// so data can be made in any order, by part, and again.
#pragma once

#include <cmath>
#include <cstdint>

namespace bench {

// Number `position` of the SplitMix64 sequence that starts from `seed`.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// In [0, 1), 53 bits.
inline double random_uniform(std::uint64_t seed, std::uint64_t position) {
  return static_cast<double>(random_bits(seed, position) >> 11) * 0x1p-53;
}

// Standard normal by Box-Muller: positions 2k and 2k+1 are the two halves of one pair.
struct normal_pair {
  double even, odd;
};
inline normal_pair random_normals(std::uint64_t seed, std::uint64_t pair) {
  double const radius = std::sqrt(-2.0 * std::log(1.0 - random_uniform(seed, 2 * pair)));
  double const angle = 6.283185307179586 * random_uniform(seed, 2 * pair + 1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace bench
