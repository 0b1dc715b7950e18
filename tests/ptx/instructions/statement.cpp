// SPDX-License-Identifier: Apache-2.0
#include "statement.hpp"

#include "../machine/fault.hpp"
#include "../module/names.hpp"
#include "../module/text.hpp"

#include <algorithm>
#include <iterator>

namespace ptx {

statement::statement(std::string_view text, int line, int index, names& scope_names)
    : text_(text), operands_(text), line_(line), index_(index), names_(scope_names) {
  words_ = split(take_word(operands_), '.');
}

void statement::fail(std::string const& message) const {
  throw fault(message + " in `" + std::string(text_) + "`, line " + std::to_string(line_));
}

// Modifiers.

bool statement::take(std::string_view modifier) {
  if (next_word_ == words_.size() || words_[next_word_] != modifier) return false;
  ++next_word_;
  return true;
}

void statement::expect(std::string_view modifier) {
  if (take(modifier)) return;
  if (next_word_ < words_.size()) fail("unknown modifier ." + std::string(words_[next_word_]));
  fail("no modifier ." + std::string(modifier));
}

std::size_t statement::take_one_of(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view const& m : modifiers)
    if (take(m)) return static_cast<std::size_t>(&m - modifiers.begin());
  if (next_word_ < words_.size()) fail("unknown modifier ." + std::string(words_[next_word_]));
  fail("a modifier is missing");
}

type statement::take_type(std::initializer_list<type> types) {
  for (type const t : types)
    if (take(name_of(t))) return t;
  if (next_word_ < words_.size()) fail("unknown modifier ." + std::string(words_[next_word_]));
  fail("the type is missing");
}

// Operands.

// Skips a character and the spaces after it.
void statement::step() {
  ++position_;
  while (position_ < operands_.size() && is_space(operands_[position_])) ++position_;
}

void statement::expect_mark(char c) {
  if (!next_is(c)) fail(std::string("no `") + c + "` before `" + rest() + "`");
  step();
}

// Takes the comma between two operands.
void statement::separate() {
  if (!separated_) {
    if (!more()) fail("an operand is missing");
    expect_mark(',');
  }
  separated_ = false;
}

// Takes a name, or a number with its sign.
std::string_view statement::word() {
  std::size_t end = position_;
  while (end < operands_.size() && (is_name(operands_[end]) || (end == position_ && next_is('-'))))
    ++end;
  std::string_view const found = operands_.substr(position_, end - position_);
  if (found.empty()) fail(more() ? "unknown operand `" + rest() + "`" : "an operand is missing");
  position_ = end;
  while (position_ < operands_.size() && is_space(operands_[position_])) ++position_;
  return found;
}

operand statement::checked(operand o, std::string_view name, type t, bool wide) const {
  std::size_t const bytes = bytes_of(t);
  bool const predicate = o.bytes == 1;
  if (predicate != (t == type::pred) || (wide ? o.bytes < bytes : o.bytes != bytes))
    fail(std::string(name) + " does not have the type ." + std::string(name_of(t)));
  return o;
}

operand statement::destination(type t, bool wide) {
  std::string_view const name = word();
  if (name == "_") return names_.unread(bytes_of(t));
  auto const found = names_.find_register(name);
  if (!found) fail("unknown register " + std::string(name));
  return checked(*found, name, t, wide);
}

operand statement::value(type t, bool wide) {
  std::string_view const name = word();
  if (auto const found = names_.find_register(name)) return checked(*found, name, t, wide);
  if (names::variable const* const v = names_.find_variable(name)) {
    if (is_floating_point(t) || bytes_of(t) < 4) fail("an address does not fit");
    return names_.constant(v->address, bytes_of(t));
  }
  return names_.constant(literal(name, t), bytes_of(t));
}

// PTX ISA 4.5 "Constants".
std::uint64_t statement::literal(std::string_view s, type t) const {
  auto const unknown = [&] { fail("unknown operand `" + std::string(s) + "`"); };
  std::size_t const bits = 8 * bytes_of(t);
  std::string_view const kind = s.substr(0, 2);
  bool const single = kind == "0f" || kind == "0F", twice = kind == "0d" || kind == "0D";
  if (single || twice) {
    auto const value = number("0x" + std::string(s.substr(2)));
    if (!value || s.size() != (single ? 10 : 18)) unknown();
    if (bits != (single ? 32 : 64)) fail("`" + std::string(s) + "` does not fit the type");
    return *value;
  }
  if (is_floating_point(t)) unknown();
  bool const negative = s.front() == '-';
  std::string_view digits = s.substr(negative ? 1 : 0);
  if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u')) digits.remove_suffix(1);
  auto const value = digits == "WARP_SZ" ? std::uint64_t{warp_lanes} : number(digits);
  if (!value) unknown();
  if (t == type::pred) return *value != 0;
  std::uint64_t const ones = ~std::uint64_t{0} >> (64 - bits);
  if (*value > (negative ? ones / 2 + 1 : ones)) fail("`" + std::string(s) + "` does not fit");
  return (negative ? 0 - *value : *value) & ones;
}

void statement::append_result(instruction& n, operand o) const {
  if (n.result_count == std::size(n.results)) fail("too many results");
  n.results[n.result_count++] = o;
}

void statement::append_source(instruction& n, operand o) const {
  if (n.source_count == std::size(n.sources)) fail("too many sources");
  n.sources[n.source_count++] = o;
}

void statement::results(instruction& n, type t, std::size_t count, bool wide) {
  if (count > 1) return result_vector(n, t, count, wide);
  separate();
  append_result(n, destination(t, wide));
}

void statement::result_vector(instruction& n, type t, std::size_t count, bool wide) {
  separate();
  expect_mark('{');
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) expect_mark(',');
    append_result(n, destination(t, wide));
  }
  expect_mark('}');
}

void statement::sources(instruction& n, type t, std::size_t count, bool wide) {
  separate();
  if (count > 1) expect_mark('{');
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) expect_mark(',');
    append_source(n, value(t, wide));
  }
  if (count > 1) expect_mark('}');
}

std::int64_t statement::address(instruction& n, space where) {
  separate();
  expect_mark('[');
  std::string_view const name = word();
  if (auto const found = names_.find_register(name)) {
    bool const window = where == space::shared || where == space::param;  // has 32-bit addresses
    append_source(n, checked(*found, name, window ? type::b32 : type::b64, window));
  } else if (names::variable const* const v = names_.find_variable(name)) {
    if (v->where != where) fail(std::string(name) + " lies in another state space");
    append_source(n, names_.constant(v->address, 8));
  } else {
    fail("unknown operand `" + std::string(name) + "`");
  }
  std::int64_t offset = 0;
  if (next_is('+')) {
    step();
    offset = static_cast<std::int64_t>(literal(word(), type::s64));
  }
  expect_mark(']');
  return offset;
}

std::int64_t statement::integer() {
  separate();
  return static_cast<std::int64_t>(literal(word(), type::s64));
}

void statement::branch_target(instruction& n) {
  separate();
  names_.branch(index_, word());
  n.then = flow::branch;
}

std::size_t statement::vector_size() {
  separate();
  separated_ = true;
  if (!next_is('{')) return 1;
  std::string_view const elements =
      operands_.substr(position_, operands_.find('}', position_) - position_);
  return 1 + static_cast<std::size_t>(std::count(elements.begin(), elements.end(), ','));
}

bool statement::take_bar() {
  if (!next_is('|')) return false;
  step();
  return separated_ = true;
}

bool statement::take_not() {
  separate();
  separated_ = true;
  if (!next_is('!')) return false;
  step();
  return true;
}

void statement::synchronizes(instruction& n) { n.synchronization = names_.next_synchronization(); }

void statement::end() const {
  if (next_word_ < words_.size()) fail("unknown modifier ." + std::string(words_[next_word_]));
  if (more()) fail("one operand too many, `" + rest() + "`,");
}

}  // namespace ptx
