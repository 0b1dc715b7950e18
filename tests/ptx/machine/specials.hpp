// SPDX-License-Identifier: Apache-2.0
// Special registers. PTX ISA 10 "Special Registers".
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx {

class warp;

// What it holds in a lane.
using special = std::uint32_t (*)(warp const& w, unsigned lane);

// "%tid.x". Null where the name is not known.
special special_register(std::string_view name);

}  // namespace ptx
