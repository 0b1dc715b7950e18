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
enum class type_class : std::uint8_t { any, integer, floating_point };

struct opcode_info {
  char const* name;     // first word: "add", "ld", "bar", "cp"
  char const* section;  // "9.7.1.1"
  // Decodes all modifiers and operands of the statement, and selects the action.
  void (*decode)(statement&, instruction&);
  // Distinguishes rows with the same opcode by the type in the last modifier.
  type_class kind = type_class::any;
};

// Each function returns the rows of one chapter of the manual.
std::vector<opcode_info> integer_arithmetic();
std::vector<opcode_info> floating_point();
std::vector<opcode_info> comparison();
std::vector<opcode_info> logic_and_shift();
std::vector<opcode_info> movement();
std::vector<opcode_info> conversion();
std::vector<opcode_info> control_flow();
std::vector<opcode_info> loads_and_stores();
std::vector<opcode_info> addresses();
std::vector<opcode_info> asynchronous_copies();
std::vector<opcode_info> shuffles();
std::vector<opcode_info> barriers();
std::vector<opcode_info> matrices();

std::vector<opcode_info> const& instruction_table();
// Returns the row of an opcode; null if there is none. `last_type`: statement::last_type().
opcode_info const* find_opcode(std::string_view opcode, type last_type);

}  // namespace ptx
