// SPDX-License-Identifier: Apache-2.0
// The instruction table: one row for each opcode, with the section of the PTX ISA manual that says
// what it does.
#pragma once

#include "../module/kernel.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ptx {

class statement;

struct form {
  char const* opcode;   // the first word: "add", "ld", "bar", "cp"
  char const* section;  // "9.7.1.1"
  // Takes every modifier and operand from the statement, and chooses the action by them.
  void (*decode)(statement&, instruction&);
};

std::vector<form> const& instruction_table();
// Null where no row has this opcode.
form const* find_form(std::string_view opcode);

}  // namespace ptx
