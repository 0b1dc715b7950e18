// SPDX-License-Identifier: Apache-2.0
// The statements of a kernel: declarations, labels, and instructions, which their rows of the
// instruction table decode.
#pragma once

#include "entry.hpp"
#include "kernel.hpp"
#include "names.hpp"

#include <string_view>
#include <vector>

namespace ptx {

// Fills the kernel's code, of which operands are virtual registers still, and its static shared
// memory, behind which `dynamic_shared` of the module begins: declarations such as
// ".align 16 .b8 a[]". Throws fault at whatever is not known here.
void decode_body(kernel_body const& body, std::vector<std::string_view> const& dynamic_shared,
                 kernel& k, names& known);

}  // namespace ptx
