// SPDX-License-Identifier: Apache-2.0
// A thread block: its shared memory and its warps.
#pragma once

#include "address.hpp"
#include "launch.hpp"
#include "shared_memory.hpp"
#include "warp.hpp"

#include <array>
#include <vector>

namespace ptx {

class cluster;

struct block {
  ptx::cluster* cluster = nullptr;
  unsigned rank = 0;  // rank in the cluster
  extent index;       // %ctaid
  shared_memory shared;
  std::vector<warp> warps;
  unsigned running_warps = 0;  // warps that have not ended
};

}  // namespace ptx
