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
    int const setting = value == nullptr ? 1 : std::atoi(value);
    return static_cast<std::uint64_t>(setting < 1 ? 1 : setting);
  }();
  return share;
}

// Advances to the next case, and returns true if it is to be run: the first, then pseudo-random
// ones, the same in every run. Every eighth case might always have the same element type.
inline bool select_next_case() {
  static std::uint64_t cases = 0;
  std::uint64_t const case_index = cases++;
  return case_index == 0 || (case_index * 0x9e3779b97f4a7c15u >> 32) % test_share() == 0;
}

// Returns the selected share of `repetitions` of a case, at least 1.
inline int share_of(int repetitions) {
  auto const share = static_cast<std::uint64_t>(repetitions) / test_share();
  return share == 0 ? 1 : static_cast<int>(share);
}

}  // namespace support
