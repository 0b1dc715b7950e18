// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../module/kernel.hpp"

#include <vector>

namespace ptx {

access_widths access_widths_of(std::vector<instruction> const& code);

}  // namespace ptx
