// SPDX-License-Identifier: Apache-2.0
// Member masks of warp-level instructions: shuffles, votes and bar.warp.sync.
#pragma once

#include "../../machine/warp.hpp"

#include <cstdint>

namespace ptx {

// The lanes in the member mask of `lane` that have not left the kernel.
inline lane_mask members_of(warp const& w, std::uint64_t const* member_masks, unsigned lane) {
  return static_cast<lane_mask>(member_masks[lane]) & w.alive;
}

// Throws fault unless the mask of each active lane contains this lane, and active lanes only. A
// device would wait for the other lanes, but no compiler relies on that.
void require_members(warp const& w, std::uint64_t const* member_masks, lane_mask active);

}  // namespace ptx
