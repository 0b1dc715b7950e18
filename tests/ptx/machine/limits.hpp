// SPDX-License-Identifier: Apache-2.0
// What a device of a compute capability allows a launch. CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability".
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptx {

struct device_limits {
  int compute_capability;  // 80, 90
  int multiprocessors;     // of an A100, of an H100 or H200
  unsigned threads_a_block;
  std::uint64_t grid_x;
  unsigned grid_y, grid_z, block_z;
  std::size_t shared_a_block;  // bytes, without asking
  std::size_t shared_opt_in;   // bytes, for a kernel that asks for them
  unsigned cluster_blocks;     // portable; 1: there are no clusters
  int l2_bytes;
};

inline constexpr device_limits sm_80{80, 108,      1024,      0x7fffffff, 65535,   65535,
                                     64, 48 << 10, 163 << 10, 1,          40 << 20};
inline constexpr device_limits sm_90{90, 132,      1024,      0x7fffffff, 65535,   65535,
                                     64, 48 << 10, 227 << 10, 8,          50 << 20};

}  // namespace ptx
