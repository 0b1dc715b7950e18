// SPDX-License-Identifier: Apache-2.0
// The head of a kernel: its name, its parameters, and what it asks of a launch. PTX ISA 11.1.1
// ".entry", 11.4 "Performance-Tuning Directives".
#pragma once

#include "kernel.hpp"
#include "names.hpp"

#include <string_view>

namespace ptx {

// What lies between the braces, and the line in which it begins.
struct kernel_body {
  std::string_view text;
  int line;
};

// `text` begins behind ".entry", in line 1. Fills the kernel, and names the parameters.
kernel_body read_entry(std::string_view text, kernel& k, names& known);

}  // namespace ptx
