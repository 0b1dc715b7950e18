// SPDX-License-Identifier: Apache-2.0
#include "traffic.hpp"

#include <algorithm>
#include <array>

namespace ptx {

namespace {

// Indices of the units of `unit` bytes that lanes first..last-1 access; distinct and ascending.
struct touched_units {
  std::array<std::uint64_t, 4 * warp_lanes> indices;
  std::size_t count = 0;

  touched_units(std::uint64_t const* addresses, std::size_t bytes, lane_mask active, int first,
                int last, std::size_t unit) {
    for (int lane = first; lane < last; ++lane)
      if ((active >> lane & 1) != 0)
        for (std::uint64_t i = addresses[lane] / unit; i <= (addresses[lane] + bytes - 1) / unit;
             ++i)
          indices[count++] = i;
    std::sort(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(count));
    count = static_cast<std::size_t>(
        std::unique(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(count)) -
        indices.begin());
  }
};

}  // namespace

// A wavefront serves a half-warp for 8-byte accesses, a quarter-warp for 16-byte accesses. Accesses
// to the same word are merged.
void count_shared(counters& counts, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active) {
  int const lanes_per_wavefront = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  ++counts.shared_requests;
  for (int first = 0; first < warp_lanes; first += lanes_per_wavefront) {
    touched_units const words(addresses, bytes, active, first, first + lanes_per_wavefront, 4);
    std::array<unsigned, 32> words_per_bank{};
    unsigned wavefronts = 0;
    for (std::size_t i = 0; i < words.count; ++i)
      wavefronts = std::max(wavefronts, ++words_per_bank[words.indices[i] % 32]);
    counts.shared_wavefronts += wavefronts;
    counts.shared_ideal_wavefronts += (words.count + 31) / 32;
  }
}

void count_global(counters& counts, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active) {
  ++counts.global_requests;
  counts.global_sectors += touched_units(addresses, bytes, active, 0, warp_lanes, 32).count;
  counts.global_bytes += bytes * static_cast<unsigned>(__builtin_popcount(active));
}

void count_remote(counters& counts, std::uint64_t const* addresses, std::size_t bytes,
                  lane_mask active) {
  counts.remote_sectors += touched_units(addresses, bytes, active, 0, warp_lanes, 32).count;
}

}  // namespace ptx
