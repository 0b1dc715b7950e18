// SPDX-License-Identifier: Apache-2.0
// One statement of a kernel's text, `@p opcode.modifier.type a, {b, c}, [d+4];`, while it is being
// decoded. A row of the instruction table takes the modifiers and operands that it knows, from left
// to right; whatever it leaves, and whatever is not there to be taken, is a fault.
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
  // `text` is without guard and semicolon, of that line of the kernel's text; `index` will be its
  // instruction's in the kernel's code.
  statement(std::string_view text, int line, int index, names& known);

  std::string_view opcode() const { return words_.front(); }
  // What the last modifier names; none where it names no type.
  type last_type() const { return type_named(words_.back()); }

  // Modifiers. `shared::cta` is one.

  // Whether this modifier is the next; if so, it is taken.
  bool take(std::string_view modifier);
  void expect(std::string_view modifier);
  // Which of them the next one is, from 0: take_one_of({"up", "down", "bfly", "idx"}).
  std::size_t take_one_of(std::initializer_list<std::string_view> modifiers);
  type take_type(std::initializer_list<type> types);

  // Operands, appended to the instruction's results and sources. A register must be as wide as the
  // type; `wide` allows a wider one (PTX ISA 9.4.1), and operand::bytes then says how wide.

  void result(instruction& n, type t, bool wide = false) { results(n, t, 1, wide); }
  // A register, a special register, an immediate, or the name of a variable (its address).
  void source(instruction& n, type t, bool wide = false) { sources(n, t, 1, wide); }
  // `{a, b}` of so many elements; where that is 1, `a`.
  void results(instruction& n, type t, std::size_t count, bool wide = false);
  void sources(instruction& n, type t, std::size_t count, bool wide = false);
  // `{a}` where it is 1.
  void result_vector(instruction& n, type t, std::size_t count, bool wide = false);
  // `[a+8]`: appends a to the sources and returns 8. A name must be of a variable of that space;
  // its source is a constant.
  std::int64_t address(instruction& n, space where);
  // An immediate that is part of the instruction itself, as the barrier's number is.
  std::int64_t integer();
  // The label that a branch goes to.
  void target(instruction& n);

  // Whether another operand follows, for those that may be left out.
  bool more() const { return at_ < operands_.size(); }
  // How many elements the vector has that is the next operand; 1: it is no vector.
  std::size_t vector_size();
  // The bar of `d|p`, behind the first result.
  bool take_bar();
  // The mark of `!p`, before a source.
  bool take_not();

  // Gives the instruction its number among the kernel's synchronizations.
  void synchronizes(instruction& n);

  // Throws fault when something was not taken.
  void end() const;
  [[noreturn]] void fail(std::string const& what) const;

 private:
  bool next_is(char c) const { return more() && operands_[at_] == c; }
  void step();
  void expect_mark(char c);
  void separate();
  std::string_view word();
  std::string rest() const { return std::string(operands_.substr(at_)); }

  operand checked(operand o, std::string_view name, type t, bool wide) const;
  operand destination(type t, bool wide);
  operand value(type t, bool wide);
  std::uint64_t literal(std::string_view s, type t) const;
  void append_result(instruction& n, operand o) const;
  void append_source(instruction& n, operand o) const;

  std::string_view text_, operands_;
  std::vector<std::string_view> words_;
  std::size_t next_word_ = 1;
  std::size_t at_ = 0;     // in operands_
  bool separated_ = true;  // the comma before the next operand was taken, or there is none
  int line_, index_;
  names& known_;
};

}  // namespace ptx
