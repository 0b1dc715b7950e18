// SPDX-License-Identifier: Apache-2.0
// Special registers. PTX ISA 10 "Special Registers".
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx {

class warp;

// Computes the register's value in a lane.
using special = std::uint32_t (*)(warp const& w, unsigned lane);

// Finds the function of a name such as "%tid.x"; null if it is unknown.
special special_register(std::string_view name);

}  // namespace ptx
