// SPDX-License-Identifier: Apache-2.0
// Selects a share of a program's cases, for the PTX machine, which takes a thousand times as long
// as a device. SLICESORT_TEST_SHARE=8 selects about one of eight; unset or 1 selects all.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace support {

inline std::uint64_t test_share() {
  static std::uint64_t const share = [] {
    char const* const value = std::getenv("SLICESORT_TEST_SHARE");
    int const number = value == nullptr ? 1 : std::atoi(value);
    return static_cast<std::uint64_t>(number < 1 ? 1 : number);
  }();
  return share;
}

// True if the next case is to be run: the first, then pseudo-random ones, the same in every run.
// Every eighth case might always have the same element type.
inline bool in_share() {
  static std::uint64_t cases = 0;
  std::uint64_t const number = cases++;
  return number == 0 || (number * 0x9e3779b97f4a7c15u >> 32) % test_share() == 0;
}

// The share of `times` repetitions of a case, at least 1.
inline int share_of(int times) {
  auto const share = static_cast<std::uint64_t>(times) / test_share();
  return share == 0 ? 1 : static_cast<int>(share);
}

}  // namespace support
