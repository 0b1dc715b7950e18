// SPDX-License-Identifier: Apache-2.0
// CUB as an independent oracle.
#pragma once

#include <cstdint>
#include <vector>

namespace support {

// cub::DeviceSegmentedRadixSort or cub::DeviceSegmentedSort.
enum class cub_sort { radix, segmented };
struct sorted_segments {
  std::vector<float> keys;
  std::vector<std::uint32_t> rows;
};
// Sorts segments of `length` keys each, ascending and stable. `rows` are positions in the segment.
sorted_segments sort_by_cub(cub_sort algorithm, std::vector<float> const& keys, int length);

}  // namespace support
