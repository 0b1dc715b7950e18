// SPDX-License-Identifier: Apache-2.0
// The instruction table: one row for each opcode, with the section of the PTX ISA manual that says
// what it does.
#pragma once

#include "../module/kernel.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ptx {

// One statement of a kernel's text, `@p opcode.modifier.type a, b, c;`, while it is being decoded.
// Every modifier and every operand must be taken: what is left over is not known here, and a fault.
class statement;

struct form {
  char const* opcode;   // the first word: "add", "ld", "bar", "cp"
  char const* section;  // "9.7.1.1"
  void (*decode)(statement&, instruction&);
};

std::vector<form> const& instruction_table();

}  // namespace ptx
