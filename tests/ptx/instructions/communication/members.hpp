// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../machine/warp.hpp"

#include <cstdint>

namespace ptx {

// The lanes that lane `lane` names as those that take part, of those that have not left the kernel.
inline lane_mask members_of(warp const& w, std::uint64_t const* masks, unsigned lane) {
  return static_cast<lane_mask>(masks[lane]) & w.alive;
}

// Throws fault unless each lane names itself, and lanes that execute the instruction together. A
// device would wait for the others, wherever in the text they come to such an instruction; no
// compiler relies on that.
void demand_members(warp const& w, std::uint64_t const* masks, lane_mask active);

}  // namespace ptx
