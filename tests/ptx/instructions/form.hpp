// SPDX-License-Identifier: Apache-2.0
// The instruction table: one row for each opcode, with the section of the PTX ISA manual (9.0) that
// says what it does.
#pragma once

#include "../module/kernel.hpp"

#include <string_view>
#include <vector>

namespace ptx {

class statement;

// Integers include untyped bits and predicates.
enum class numbers : std::uint8_t { any, integer, floating_point };

struct form {
  char const* opcode;   // the first word: "add", "ld", "bar", "cp"
  char const* section;  // "9.7.1.1"
  // Takes every modifier and operand from the statement, and chooses the action by them.
  void (*decode)(statement&, instruction&);
  // Where two rows share an opcode, the last modifier says which it is.
  numbers of = numbers::any;
};

// A chapter of the manual each.
std::vector<form> integer_arithmetic();
std::vector<form> floating_point();
std::vector<form> comparison();
std::vector<form> logic_and_shift();
std::vector<form> movement();
std::vector<form> conversion();
std::vector<form> control_flow();
std::vector<form> loads_and_stores();
std::vector<form> addresses();
std::vector<form> asynchronous_copies();
std::vector<form> shuffles();
std::vector<form> barriers();
std::vector<form> matrices();

std::vector<form> const& instruction_table();
// Null where no row has this opcode. `last` is what the last modifier names.
form const* find_form(std::string_view opcode, type last);

}  // namespace ptx
