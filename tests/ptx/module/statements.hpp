// SPDX-License-Identifier: Apache-2.0
// Decodes the statements of a kernel: declarations, labels and instructions.
#pragma once

#include "entry.hpp"
#include "kernel.hpp"
#include "names.hpp"

#include <string_view>
#include <vector>

namespace ptx {

// Fills the kernel's code, with virtual registers as operands, and the size of its static shared
// memory. `dynamic_shared` holds the module's declarations, such as ".align 16 .b8 a[]", which
// begin behind the static memory. Throws fault if a statement is not supported.
void decode_statements(kernel_text const& body, std::vector<std::string_view> const& dynamic_shared,
                       kernel& k, names& scope_names);

}  // namespace ptx
