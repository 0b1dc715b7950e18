// SPDX-License-Identifier: Apache-2.0
#include "members.hpp"

#include <cstdio>

namespace ptx {

void require_members(warp const& w, std::uint64_t const* member_masks, lane_mask active) {
  for (lane_mask rest = active; rest != 0; rest &= rest - 1) {
    auto const lane = static_cast<unsigned>(__builtin_ctz(rest));
    lane_mask const members = members_of(w, member_masks, lane);
    if ((members & ~active) == 0 && (members >> lane & 1) != 0) continue;
    char text[96];
    std::snprintf(text, sizeof text, "lane %u names lanes %08x, and here are %08x", lane, members,
                  active);
    w.fail(text);
  }
}

}  // namespace ptx
