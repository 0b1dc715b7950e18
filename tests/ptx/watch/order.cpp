// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"

namespace ptx {

void sync_state::synchronize_lanes(lane_mask participants, timestamp time) {
  last_sync = time;
  if (participants == all_lanes) {
    lane_sync = time;
    return;
  }
  if (pair_syncs.empty()) pair_syncs.resize(32 * 32);
  // Accesses ordered before one participating lane are now ordered before all of them.
  std::array<timestamp, 32> ordered_before{};
  for (unsigned i = 0; i < 32; ++i)
    if ((participants >> i & 1) != 0)
      for (unsigned j = 0; j < 32; ++j)
        ordered_before[j] = std::max(ordered_before[j], pair_syncs[32 * i + j]);
  for (unsigned i = 0; i < 32; ++i)
    if ((participants >> i & 1) != 0)
      for (unsigned j = 0; j < 32; ++j)
        pair_syncs[32 * i + j] = (participants >> j & 1) != 0 ? time : ordered_before[j];
}

}  // namespace ptx
