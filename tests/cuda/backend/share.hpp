// SPDX-License-Identifier: Apache-2.0
// A share of a program's cases, where what runs them takes a thousand times as long as a device:
// SLICESORT_TEST_SHARE=8 in the environment asks for about one of eight, unset or 1 for all.
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

// Whether to run the next case: the first, and then by lot, the same cases in every run. By lot,
// because every eighth case may well be the same element type each time.
inline bool in_share() {
  static std::uint64_t cases = 0;
  std::uint64_t const number = cases++;
  return number == 0 || (number * 0x9e3779b97f4a7c15u >> 32) % test_share() == 0;
}

// Of `times` repetitions of a case.
inline int share_of(int times) {
  auto const share = static_cast<std::uint64_t>(times) / test_share();
  return share == 0 ? 1 : static_cast<int>(share);
}

}  // namespace support
