// SPDX-License-Identifier: Apache-2.0
// Launch limits of a compute capability. CUDA C++ Programming Guide, "Technical Specifications per
// Compute Capability".
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptx {

struct device_limits {
  int compute_capability;  // 80 or 90
  int multiprocessors;     // of an A100 or an H100
  unsigned max_threads;
  std::uint64_t grid_x;
  unsigned grid_y, grid_z, block_z;
  std::size_t shared_default;  // bytes per block without opt-in
  std::size_t shared_opt_in;   // bytes per block with opt-in
  unsigned cluster_blocks;     // portable size; 1: no clusters
  int l2_bytes;
};

inline constexpr device_limits sm_80{80, 108,      1024,      0x7fffffff, 65535,   65535,
                                     64, 48 << 10, 163 << 10, 1,          40 << 20};
inline constexpr device_limits sm_90{90, 132,      1024,      0x7fffffff, 65535,   65535,
                                     64, 48 << 10, 227 << 10, 8,          50 << 20};

}  // namespace ptx
