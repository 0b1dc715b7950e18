// SPDX-License-Identifier: Apache-2.0
// Counter-based random bits. Stateless, so all backends and threads get the same bits.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Output function of SplitMix64, a bijection: Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators" (OOPSLA 2014), with the constants of Stafford's variant 13.
SLICESORT_HD constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Increment between counters: 2^64 divided by the golden ratio.
inline constexpr std::uint64_t counter_step = 0x9e3779b97f4a7c15u;

// Returns element `counter` (from 0) of the SplitMix64 sequence that starts from `seed`.
SLICESORT_HD constexpr std::uint64_t counter_hash64(std::uint64_t seed, std::uint64_t counter) {
  return mix64(seed + counter_step * (counter + 1));
}

// Returns 32 random bits for (seed, sequence, counter). Every sequence has its own seed.
SLICESORT_HD constexpr std::uint32_t counter_hash32(std::uint64_t seed, std::uint64_t sequence,
                                                    std::uint64_t counter) {
  return static_cast<std::uint32_t>(counter_hash64(counter_hash64(seed, sequence), counter) >> 32);
}

// Returns a random integer in [0, n), for n <= 2^31: the upper half of 32 random bits times n.
// `key` is the seed of a sequence, counter_hash64(seed, sequence).
SLICESORT_HD constexpr std::int64_t uniform_below(std::uint64_t key, std::uint64_t counter,
                                                  std::int64_t n) {
  return static_cast<std::int64_t>(
      (counter_hash64(key, counter) >> 32) * static_cast<std::uint64_t>(n) >> 32);
}

SLICESORT_DETAIL_END
