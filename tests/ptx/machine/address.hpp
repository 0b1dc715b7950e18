// SPDX-License-Identifier: Apache-2.0
// Generic addresses. Those of global memory are the host's own; shared memory lies where the host
// has none. PTX ISA 5.1 "State Spaces", 9.7.9.25 "cvta".
#pragma once

#include <cstdint>

namespace ptx {

// Shared memory of the cluster's block r: from shared_window + r * shared_stride on.
inline constexpr std::uint64_t shared_window = 0x7a00'0000'0000'0000;
inline constexpr std::uint64_t shared_stride = std::uint64_t{1} << 24;
inline constexpr unsigned most_cluster_blocks = 16;

inline constexpr bool in_shared_window(std::uint64_t address) {
  return address - shared_window < most_cluster_blocks * shared_stride;
}
inline constexpr unsigned block_of_shared(std::uint64_t address) {
  return static_cast<unsigned>((address - shared_window) / shared_stride);
}
inline constexpr std::uint64_t offset_of_shared(std::uint64_t address) {
  return (address - shared_window) % shared_stride;
}

}  // namespace ptx
