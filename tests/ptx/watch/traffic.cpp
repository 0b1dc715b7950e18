// SPDX-License-Identifier: Apache-2.0
#include "traffic.hpp"

#include <algorithm>
#include <array>

namespace ptx {

namespace {

// Distinct numbers of units that the lanes from `first` to before `last` touch, ascending.
struct units {
  std::array<std::uint64_t, 4 * warp_lanes> of;
  std::size_t count = 0;

  units(std::uint64_t const* addresses, std::size_t bytes, lane_mask active, int first, int last,
        std::size_t unit) {
    for (int l = first; l < last; ++l)
      if ((active >> l & 1) != 0)
        for (std::uint64_t i = addresses[l] / unit; i <= (addresses[l] + bytes - 1) / unit; ++i)
          of[count++] = i;
    std::sort(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(count));
    count = static_cast<std::size_t>(
        std::unique(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(count)) - of.begin());
  }
};

}  // namespace

// 8-byte accesses are served by half a warp at a time, 16-byte accesses by a quarter. Threads that
// read the same word are served at once.
void count_shared(counters& counted, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active) {
  int const together = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  ++counted.shared_requests;
  for (int first = 0; first < warp_lanes; first += together) {
    units const words(addresses, bytes, active, first, first + together, 4);
    std::array<unsigned, 32> bank{};
    unsigned most = 0;
    for (std::size_t i = 0; i < words.count; ++i) most = std::max(most, ++bank[words.of[i] % 32]);
    counted.shared_wavefronts += most;
    counted.shared_ideal += (words.count + 31) / 32;
  }
}

void count_global(counters& counted, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active) {
  ++counted.global_requests;
  counted.global_sectors += units(addresses, bytes, active, 0, warp_lanes, 32).count;
  counted.global_bytes += bytes * static_cast<unsigned>(__builtin_popcount(active));
}

void count_remote(counters& counted, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active) {
  counted.remote_sectors += units(addresses, bytes, active, 0, warp_lanes, 32).count;
}

}  // namespace ptx
