// SPDX-License-Identifier: Apache-2.0
// A statement of a kernel while it is decoded: `@p opcode.modifier.type a, {b, c}, [d+4];`. A row
// of the instruction table takes modifiers and operands from left to right. A missing one is a
// fault, and so is a leftover one.
#pragma once

#include "../module/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

class names;

class statement {
 public:
  // `text` has no guard and no semicolon. `line` counts in the kernel's text, `index` in its code.
  statement(std::string_view text, int line, int index, names& scope_names);

  std::string_view opcode() const { return words_.front(); }
  // `none` if the last modifier is not a type.
  type last_type() const { return parse_type(words_.back()); }

  // Modifiers. `shared::cta` is one modifier.

  // Takes the next modifier if it is `modifier`; returns true if so.
  bool take(std::string_view modifier);
  void expect(std::string_view modifier);
  // Takes the next modifier; returns its index in the list. Throws fault if it is not in the list.
  std::size_t take_one_of(std::initializer_list<std::string_view> modifiers);
  type take_type(std::initializer_list<type> types);

  // Operands. They are appended to the instruction's results and sources. A register must have the
  // width of the type; `wide` allows a wider one (PTX ISA 9.4.1), whose width is operand::bytes.

  void take_result(instruction& instr, type t, bool wide = false) {
    take_results(instr, t, 1, wide);
  }
  // A register, a special register, an immediate, or the name of a variable (its address).
  void take_source(instruction& instr, type t, bool wide = false) {
    take_sources(instr, t, 1, wide);
  }
  // `{a, b}` with `count` elements, or `a` for 1.
  void take_results(instruction& instr, type t, std::size_t count, bool wide = false);
  void take_sources(instruction& instr, type t, std::size_t count, bool wide = false);
  // Like take_results(), but `{a}` for 1.
  void take_result_vector(instruction& instr, type t, std::size_t count, bool wide = false);
  // `[a+8]`: appends a to the sources and returns 8. The name of a variable of that space becomes a
  // constant.
  std::int64_t take_address(instruction& instr, state_space space);
  // An immediate that is part of the instruction, such as the index of a barrier.
  std::int64_t take_integer();
  void take_branch_target(instruction& instr);

  bool has_more() const { return position_ < operands_.size(); }
  // Number of elements of the next operand; 1 if it is not a vector.
  std::size_t next_vector_size();
  // Takes the `|` of `d|p`, after the first result.
  bool take_bar();
  // Takes the `!` of `!p`, before a source.
  bool take_not();

  // Assigns the next synchronization index of the kernel to the instruction.
  void assign_synchronization(instruction& instr);

  // Throws fault if a modifier or an operand remains.
  void require_end() const;
  [[noreturn]] void fail(std::string const& message) const;

 private:
  bool next_is(char c) const { return has_more() && operands_[position_] == c; }
  void skip_char();
  void expect_char(char c);
  void take_comma();
  std::string_view take_name_or_number();
  std::string rest() const { return std::string(operands_.substr(position_)); }

  operand require_type(operand o, std::string_view name, type t, bool wide) const;
  operand take_destination(type t, bool wide);
  operand take_value(type t, bool wide);
  std::uint64_t parse_literal(std::string_view s, type t) const;
  void append_result(instruction& instr, operand o) const;
  void append_source(instruction& instr, operand o) const;

  std::string_view text_, operands_;
  std::vector<std::string_view> words_;
  std::size_t next_word_ = 1;
  std::size_t position_ = 0;  // in operands_
  bool comma_taken_ = true;   // no comma is expected before the next operand
  int line_, index_;
  names& names_;
};

}  // namespace ptx
