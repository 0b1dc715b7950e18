// SPDX-License-Identifier: Apache-2.0
// Finds the narrowest memory accesses of a kernel, which set the granularity of race detection.
#pragma once

#include "../module/kernel.hpp"

#include <vector>

namespace ptx {

access_widths access_widths_of(std::vector<instruction> const& code);

}  // namespace ptx
