// SPDX-License-Identifier: Apache-2.0
// Random bits from a counter: stateless, so every backend, thread and sample sees the same ones.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// The output function of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators" (OOPSLA 2014), with the constants of Stafford's variant 13. A bijection.
SLICESORT_HD constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// What a sequence's numbers are hashes of lies so far apart.
inline constexpr std::uint64_t counter_step = 0x9e3779b97f4a7c15u;

// Number `counter` (from 0) of the SplitMix64 sequence that starts from `seed`.
SLICESORT_HD constexpr std::uint64_t counter_hash64(std::uint64_t seed, std::uint64_t counter) {
  return mix64(seed + counter_step * (counter + 1));
}

// 32 bits for (seed, stream, counter): every stream is a sequence with a seed of its own.
SLICESORT_HD constexpr std::uint32_t counter_hash32(std::uint64_t seed, std::uint64_t stream,
                                                    std::uint64_t counter) {
  return static_cast<std::uint32_t>(counter_hash64(counter_hash64(seed, stream), counter) >> 32);
}

// A number of `0 .. n - 1`, for n of at most 2^31, from the stream with the seed `key` =
// counter_hash64(seed, stream): 32 bits times n, without the last 32 bits.
SLICESORT_HD constexpr std::int64_t below(std::uint64_t key, std::uint64_t counter,
                                          std::int64_t n) {
  return static_cast<std::int64_t>(
      (counter_hash64(key, counter) >> 32) * static_cast<std::uint64_t>(n) >> 32);
}

SLICESORT_DETAIL_END
