// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"

namespace ptx {

void order::synchronize_lanes(lane_mask together, moment when) {
  now = when;
  if (together == all_lanes) {
    lanes = when;
    return;
  }
  if (pairs.empty()) pairs.resize(32 * 32);
  // What one of them knows, all of them know now.
  std::array<moment, 32> known{};
  for (unsigned i = 0; i < 32; ++i)
    if ((together >> i & 1) != 0)
      for (unsigned j = 0; j < 32; ++j) known[j] = std::max(known[j], pairs[32 * i + j]);
  for (unsigned i = 0; i < 32; ++i)
    if ((together >> i & 1) != 0)
      for (unsigned j = 0; j < 32; ++j)
        pairs[32 * i + j] = (together >> j & 1) != 0 ? when : known[j];
}

}  // namespace ptx
