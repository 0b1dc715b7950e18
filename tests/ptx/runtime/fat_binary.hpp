// SPDX-License-Identifier: Apache-2.0
// Reads a fat binary: the machine code and PTX of a translation unit, which nvcc embeds in the
// program for one or more architectures.
#pragma once

#include <string>

namespace ptx::runtime {

struct found_text {
  std::string ptx;            // empty if there is none
  std::string error_message;  // the reason why there is no PTX
};

// Returns the PTX for a device of this compute capability (80 or 90): the newest that it supports.
// `data` is the member `data` of the wrapper in fatbinary_section.h.
found_text text_for(int compute_capability, void const* data);

}  // namespace ptx::runtime
