// SPDX-License-Identifier: Apache-2.0
// What nvcc leaves of a translation unit's kernels in the program: machine code and PTX, for one or
// more architectures.
#pragma once

#include <string>

namespace ptx::runtime {

struct found_text {
  std::string ptx;      // empty: there is none
  std::string refusal;  // why not
};

// The PTX that a device of this compute capability (80, 90) takes: the newest that is not for later
// devices. `data` is what fatbinary_section.h calls the data of the wrapper.
found_text text_for(int compute_capability, void const* data);

}  // namespace ptx::runtime
