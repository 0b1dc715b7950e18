// SPDX-License-Identifier: Apache-2.0
// Sorts the segments of a vector with CUB.
#include "cub.hpp"

#include "cuda/backend/device.hpp"

#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include <cstddef>

namespace support {

namespace {

template <class T>
T* data_of(device_bytes const& bytes) {
  return static_cast<T*>(bytes.data());
}
template <class T>
std::vector<T> elements_of(device_bytes const& memory) {
  auto const bytes = memory.download();
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

}  // namespace

sorted_segments sort_by_cub(cub_sort algorithm, std::vector<float> const& keys, int length) {
  auto const count = static_cast<int>(keys.size());
  int const segments = count / length;
  std::vector<std::uint32_t> positions(keys.size());
  std::vector<int> offsets;
  for (int i = 0; i < count; ++i)
    positions[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i % length);
  for (int i = 0; i <= segments; ++i) offsets.push_back(i * length);
  device_bytes input(keys.size() * 4), rows(keys.size() * 4), bounds(offsets.size() * 4);
  device_bytes const output(keys.size() * 4), rows_out(keys.size() * 4);
  input.upload(keys.data());
  rows.upload(positions.data());
  bounds.upload(offsets.data());
  int const* const begin = data_of<int>(bounds);
  auto const sort = [&](void* scratch, std::size_t& bytes) {
    return algorithm == cub_sort::radix
               ? cub::DeviceSegmentedRadixSort::SortPairs(
                     scratch, bytes, data_of<float>(input), data_of<float>(output),
                     data_of<std::uint32_t>(rows), data_of<std::uint32_t>(rows_out), count,
                     segments, begin, begin + 1)
               : cub::DeviceSegmentedSort::StableSortPairs(
                     scratch, bytes, data_of<float>(input), data_of<float>(output),
                     data_of<std::uint32_t>(rows), data_of<std::uint32_t>(rows_out), count,
                     segments, begin, begin + 1);
  };
  std::size_t bytes = 0;
  SLICESORT_TEST_CUDA_CALL(sort(nullptr, bytes));
  device_bytes const scratch(bytes);
  SLICESORT_TEST_CUDA_CALL(sort(scratch.data(), bytes));
  return {elements_of<float>(output), elements_of<std::uint32_t>(rows_out)};
}

}  // namespace support
