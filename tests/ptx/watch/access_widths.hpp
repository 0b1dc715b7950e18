// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../module/kernel.hpp"

#include <cstddef>
#include <vector>

namespace ptx {

// The widths of a kernel's accesses to memory in bytes, powers of two up to 16.
struct access_widths {
  // The smallest: as accesses are aligned, bytes that share such a grain share their past.
  std::size_t shared = 16, global = 16;
  bool shared_lines = false;  // whether there are accesses of 16 bytes to shared memory
};
access_widths widths_of(std::vector<instruction> const& code);

}  // namespace ptx
