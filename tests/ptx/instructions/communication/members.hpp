// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../machine/warp.hpp"

#include <cstdint>

namespace ptx {

// The participating lanes in the member mask of `lane`, without those that have left the kernel.
inline lane_mask members_of(warp const& w, std::uint64_t const* member_masks, unsigned lane) {
  return static_cast<lane_mask>(member_masks[lane]) & w.alive;
}

// Throws fault unless each active lane's mask contains itself and active lanes only. A device would
// wait for the other lanes, but no compiler relies on that.
void require_members(warp const& w, std::uint64_t const* member_masks, lane_mask active);

}  // namespace ptx
