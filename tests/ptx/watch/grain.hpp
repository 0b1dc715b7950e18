// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../module/kernel.hpp"

#include <cstddef>
#include <vector>

namespace ptx {

// The width of the kernel's smallest access to memory of one kind, a power of two up to 16: as
// accesses are aligned, bytes that share such a grain share their past.
struct grains {
  std::size_t shared = 16, global = 16;
};
grains smallest_accesses(std::vector<instruction> const& code);

}  // namespace ptx
