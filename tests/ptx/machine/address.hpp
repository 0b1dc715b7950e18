// SPDX-License-Identifier: Apache-2.0
// Generic addresses. Addresses of global memory are host pointers; shared memory is mapped to
// addresses that the host does not use. PTX ISA 5.1 "State Spaces", 9.7.9.25 "cvta".
#pragma once

#include <cstdint>

namespace ptx {

// The shared memory of the cluster's block r begins at shared_window + r * shared_stride.
inline constexpr std::uint64_t shared_window = 0x7a00'0000'0000'0000;
inline constexpr std::uint64_t shared_stride = std::uint64_t{1} << 24;
inline constexpr unsigned max_cluster_blocks = 16;

inline constexpr bool in_shared_window(std::uint64_t address) {
  return address - shared_window < max_cluster_blocks * shared_stride;
}
inline constexpr unsigned block_of_shared(std::uint64_t address) {
  return static_cast<unsigned>((address - shared_window) / shared_stride);
}
inline constexpr std::uint64_t offset_of_shared(std::uint64_t address) {
  return (address - shared_window) % shared_stride;
}

}  // namespace ptx
