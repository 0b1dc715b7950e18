// SPDX-License-Identifier: Apache-2.0
// The instruction table: one row per opcode, with the section of the PTX ISA manual (9.0) that
// defines it.
#pragma once

#include "../module/kernel.hpp"

#include <string_view>
#include <vector>

namespace ptx {

class statement;

// Integers include untyped bits and predicates.
enum class number_kind : std::uint8_t { any, integer, floating_point };

struct form {
  char const* opcode;   // first word: "add", "ld", "bar", "cp"
  char const* section;  // "9.7.1.1"
  // Decodes all modifiers and operands of the statement, and selects the action.
  void (*decode)(statement&, instruction&);
  // Distinguishes rows with the same opcode by the type in the last modifier.
  number_kind kind = number_kind::any;
};

// Each function returns the rows of one chapter of the manual.
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
// Finds the row of an opcode; null if there is none. `last` is the type in the last modifier.
form const* find_form(std::string_view opcode, type last);

}  // namespace ptx
