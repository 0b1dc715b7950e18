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

// Also skips the spaces after it.
void statement::skip_char() {
  ++position_;
  while (position_ < operands_.size() && is_space(operands_[position_])) ++position_;
}

void statement::expect_char(char c) {
  if (!next_is(c)) fail(std::string("no `") + c + "` before `" + rest() + "`");
  skip_char();
}

void statement::take_comma() {
  if (!comma_taken_) {
    if (!has_more()) fail("an operand is missing");
    expect_char(',');
  }
  comma_taken_ = false;
}

// A number may have a sign.
std::string_view statement::take_name_or_number() {
  std::size_t end = position_;
  while (end < operands_.size() &&
         (is_name_char(operands_[end]) || (end == position_ && next_is('-'))))
    ++end;
  std::string_view const found = operands_.substr(position_, end - position_);
  if (found.empty())
    fail(has_more() ? "unknown operand `" + rest() + "`" : "an operand is missing");
  position_ = end;
  while (position_ < operands_.size() && is_space(operands_[position_])) ++position_;
  return found;
}

operand statement::require_type(operand o, std::string_view name, type t, bool wide) const {
  std::size_t const bytes = bytes_of(t);
  bool const is_predicate = o.bytes == 1;
  if (is_predicate != (t == type::pred) || (wide ? o.bytes < bytes : o.bytes != bytes))
    fail(std::string(name) + " does not have the type ." + std::string(name_of(t)));
  return o;
}

operand statement::take_destination(type t, bool wide) {
  std::string_view const name = take_name_or_number();
  if (name == "_") return names_.discarded_register(bytes_of(t));
  auto const found = names_.find_register(name);
  if (!found) fail("unknown register " + std::string(name));
  return require_type(*found, name, t, wide);
}

operand statement::take_value(type t, bool wide) {
  std::string_view const name = take_name_or_number();
  if (auto const found = names_.find_register(name)) return require_type(*found, name, t, wide);
  if (names::variable const* const v = names_.find_variable(name)) {
    if (is_floating_point(t) || bytes_of(t) < 4) fail("an address does not fit");
    return names_.intern_constant(v->address, bytes_of(t));
  }
  return names_.intern_constant(parse_literal(name, t), bytes_of(t));
}

// PTX ISA 4.5 "Constants".
std::uint64_t statement::parse_literal(std::string_view s, type t) const {
  auto const fail_unknown = [&] { fail("unknown operand `" + std::string(s) + "`"); };
  std::size_t const bits = 8 * bytes_of(t);
  std::string_view const prefix = s.substr(0, 2);
  bool const is_f32 = prefix == "0f" || prefix == "0F", is_f64 = prefix == "0d" || prefix == "0D";
  if (is_f32 || is_f64) {
    auto const value = parse_number("0x" + std::string(s.substr(2)));
    if (!value || s.size() != (is_f32 ? 10 : 18)) fail_unknown();
    if (bits != (is_f32 ? 32 : 64)) fail("`" + std::string(s) + "` does not fit the type");
    return *value;
  }
  if (is_floating_point(t)) fail_unknown();
  bool const negative = s.front() == '-';
  std::string_view digits = s.substr(negative ? 1 : 0);
  if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u')) digits.remove_suffix(1);
  auto const value = digits == "WARP_SZ" ? std::uint64_t{warp_lanes} : parse_number(digits);
  if (!value) fail_unknown();
  if (t == type::pred) return *value != 0;
  std::uint64_t const mask = ~std::uint64_t{0} >> (64 - bits);
  if (*value > (negative ? mask / 2 + 1 : mask)) fail("`" + std::string(s) + "` does not fit");
  return (negative ? 0 - *value : *value) & mask;
}

void statement::append_result(instruction& instr, operand o) const {
  if (instr.result_count == std::size(instr.results)) fail("too many results");
  instr.results[instr.result_count++] = o;
}

void statement::append_source(instruction& instr, operand o) const {
  if (instr.source_count == std::size(instr.sources)) fail("too many sources");
  instr.sources[instr.source_count++] = o;
}

void statement::take_results(instruction& instr, type t, std::size_t count, bool wide) {
  if (count > 1) return take_result_vector(instr, t, count, wide);
  take_comma();
  append_result(instr, take_destination(t, wide));
}

void statement::take_result_vector(instruction& instr, type t, std::size_t count, bool wide) {
  take_comma();
  expect_char('{');
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) expect_char(',');
    append_result(instr, take_destination(t, wide));
  }
  expect_char('}');
}

void statement::take_sources(instruction& instr, type t, std::size_t count, bool wide) {
  take_comma();
  if (count > 1) expect_char('{');
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) expect_char(',');
    append_source(instr, take_value(t, wide));
  }
  if (count > 1) expect_char('}');
}

std::int64_t statement::take_address(instruction& instr, state_space space) {
  take_comma();
  expect_char('[');
  std::string_view const name = take_name_or_number();
  if (auto const found = names_.find_register(name)) {
    bool const is_32bit_space = space == state_space::shared || space == state_space::param;
    append_source(
        instr, require_type(*found, name, is_32bit_space ? type::b32 : type::b64, is_32bit_space));
  } else if (names::variable const* const v = names_.find_variable(name)) {
    if (v->space != space) fail(std::string(name) + " lies in another state space");
    append_source(instr, names_.intern_constant(v->address, 8));
  } else {
    fail("unknown operand `" + std::string(name) + "`");
  }
  std::int64_t offset = 0;
  if (next_is('+')) {
    skip_char();
    offset = static_cast<std::int64_t>(parse_literal(take_name_or_number(), type::s64));
  }
  expect_char(']');
  return offset;
}

std::int64_t statement::take_integer() {
  take_comma();
  return static_cast<std::int64_t>(parse_literal(take_name_or_number(), type::s64));
}

void statement::take_branch_target(instruction& instr) {
  take_comma();
  names_.record_branch(index_, take_name_or_number());
  instr.control_flow = flow::branch;
}

std::size_t statement::next_vector_size() {
  take_comma();
  comma_taken_ = true;
  if (!next_is('{')) return 1;
  std::string_view const elements =
      operands_.substr(position_, operands_.find('}', position_) - position_);
  return 1 + static_cast<std::size_t>(std::count(elements.begin(), elements.end(), ','));
}

bool statement::take_bar() {
  if (!next_is('|')) return false;
  skip_char();
  return comma_taken_ = true;
}

bool statement::take_not() {
  take_comma();
  comma_taken_ = true;
  if (!next_is('!')) return false;
  skip_char();
  return true;
}

void statement::assign_synchronization(instruction& instr) {
  instr.synchronization = names_.next_synchronization();
}

void statement::require_end() const {
  if (next_word_ < words_.size()) fail("unknown modifier ." + std::string(words_[next_word_]));
  if (has_more()) fail("one operand too many, `" + rest() + "`,");
}

}  // namespace ptx
