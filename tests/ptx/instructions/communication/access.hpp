// SPDX-License-Identifier: Apache-2.0
// How instructions reach memory: an address for each lane, checked.
#pragma once

#include "../../machine/cluster.hpp"
#include "../../module/kernel.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ptx {

// Lane after lane, where one may touch what another touched.
template <class F>
inline void in_turn(lane_mask active, F const& f) {
  if (active == all_lanes)
    for (unsigned l = 0; l < warp_lanes; ++l) f(l);
  else
    for (lane_mask rest = active; rest != 0; rest &= rest - 1)
      f(static_cast<unsigned>(__builtin_ctz(rest)));
}

enum class doing : std::uint8_t { read, write };

// Where the bytes of each lane lie on the host.
using places = std::array<unsigned char*, warp_lanes>;

// Of `bytes` bytes at [operand + offset]. They throw fault where these are outside of memory,
// misaligned, or watched and found wrong.
void find_shared(warp& w, instruction const& n, operand const& address, lane_mask active,
                 std::size_t bytes, doing what, places& found);
void find_global(warp& w, instruction const& n, operand const& address, lane_mask active,
                 std::size_t bytes, doing what, places& found);
void find_generic(warp& w, instruction const& n, operand const& address, lane_mask active,
                  std::size_t bytes, doing what, places& found);

}  // namespace ptx
