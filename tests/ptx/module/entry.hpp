// SPDX-License-Identifier: Apache-2.0
// The head of a kernel: its name, parameters and launch bounds. PTX ISA 11.1.1 ".entry", 11.4
// "Performance-Tuning Directives".
#pragma once

#include "kernel.hpp"
#include "names.hpp"

#include <string_view>

namespace ptx {

// The text between a kernel's braces, and the line in which it begins.
struct kernel_text {
  std::string_view text;
  int line;
};

// Reads the head of a kernel. `text` begins after ".entry", in line 1. Fills the kernel and
// declares its parameters.
kernel_text read_entry(std::string_view text, kernel& k, names& scope_names);

}  // namespace ptx
