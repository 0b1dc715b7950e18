// SPDX-License-Identifier: Apache-2.0
// CUB as a fourth oracle: it shares no code with the kernels, nor with the host.
#pragma once

#include <cstdint>
#include <vector>

namespace support {

// Sorts segments of `length` keys each, ascending and stably, and says from which place of its
// segment each came: by cub::DeviceSegmentedRadixSort, or by cub::DeviceSegmentedSort.
enum class cub_sort { radix, segmented };
struct sorted_segments {
  std::vector<float> keys;
  std::vector<std::uint32_t> places;
};
sorted_segments sort_by_cub(cub_sort how, std::vector<float> const& keys, int length);

}  // namespace support
