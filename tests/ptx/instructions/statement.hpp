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
  // `text` has no guard and no semicolon. `line` is its line in the kernel's text, `index` its
  // instruction's index in the kernel's code.
  statement(std::string_view text, int line, int index, names& scope_names);

  std::string_view opcode() const { return words_.front(); }
  // The type that the last modifier names; `none` if it is not a type.
  type last_type() const { return type_named(words_.back()); }

  // Modifiers. `shared::cta` is one modifier.

  // Takes the next modifier if it is this one; returns true if so.
  bool take(std::string_view modifier);
  void expect(std::string_view modifier);
  // Takes the next modifier; returns its index in the list. Throws fault if it is not in the list.
  std::size_t take_one_of(std::initializer_list<std::string_view> modifiers);
  type take_type(std::initializer_list<type> types);

  // Operands, appended to the instruction's results and sources. A register must have the width of
  // the type; `wide` allows a wider one (PTX ISA 9.4.1), whose width is operand::bytes.

  void result(instruction& n, type t, bool wide = false) { results(n, t, 1, wide); }
  // A register, a special register, an immediate, or the name of a variable (its address).
  void source(instruction& n, type t, bool wide = false) { sources(n, t, 1, wide); }
  // `{a, b}` with `count` elements, or `a` for 1.
  void results(instruction& n, type t, std::size_t count, bool wide = false);
  void sources(instruction& n, type t, std::size_t count, bool wide = false);
  // Like results(), but `{a}` for 1.
  void result_vector(instruction& n, type t, std::size_t count, bool wide = false);
  // `[a+8]`: appends a to the sources and returns 8. The name of a variable of that space becomes a
  // constant.
  std::int64_t address(instruction& n, space where);
  // An immediate that is part of the instruction, such as a barrier's number.
  std::int64_t integer();
  // The label of a branch.
  void branch_target(instruction& n);

  // True if another operand follows.
  bool more() const { return position_ < operands_.size(); }
  // Number of elements of the next operand; 1 if it is not a vector.
  std::size_t vector_size();
  // Takes the bar of `d|p`, after the first result.
  bool take_bar();
  // Takes the mark of `!p`, before a source.
  bool take_not();

  // Numbers the instruction among the kernel's synchronizations.
  void synchronizes(instruction& n);

  // Throws fault if a modifier or an operand remains.
  void end() const;
  [[noreturn]] void fail(std::string const& message) const;

 private:
  bool next_is(char c) const { return more() && operands_[position_] == c; }
  void step();
  void expect_mark(char c);
  void separate();
  std::string_view word();
  std::string rest() const { return std::string(operands_.substr(position_)); }

  operand checked(operand o, std::string_view name, type t, bool wide) const;
  operand destination(type t, bool wide);
  operand value(type t, bool wide);
  std::uint64_t literal(std::string_view s, type t) const;
  void append_result(instruction& n, operand o) const;
  void append_source(instruction& n, operand o) const;

  std::string_view text_, operands_;
  std::vector<std::string_view> words_;
  std::size_t next_word_ = 1;
  std::size_t position_ = 0;  // in operands_
  bool separated_ = true;     // no comma is expected before the next operand
  int line_, index_;
  names& names_;
};

}  // namespace ptx
