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
// memory. `dynamic_shared` holds the module's declarations of dynamic shared memory, such as
// ".align 16 .b8 a[]", which follows the static memory. Throws fault for an unsupported statement.
void decode_statements(kernel_text const& body, std::vector<std::string_view> const& dynamic_shared,
                       kernel& k, names& scope_names);

}  // namespace ptx
