// SPDX-License-Identifier: Apache-2.0
// Reads a fat binary: the machine code and PTX that nvcc embeds per translation unit, for one or
// more architectures.
#pragma once

#include <string>

namespace ptx::runtime {

struct ptx_search {
  std::string ptx;            // empty if there is none
  std::string error_message;  // reason if there is none
};

// Returns the newest PTX that a device of this compute capability (80 or 90) supports. `data` is
// __fatBinC_Wrapper_t::data of fatbinary_section.h.
ptx_search find_ptx(int compute_capability, void const* data);

}  // namespace ptx::runtime
