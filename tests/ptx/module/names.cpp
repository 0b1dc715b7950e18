// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include "../machine/fault.hpp"
#include "../machine/specials.hpp"
#include "text.hpp"

#include <algorithm>

namespace ptx {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "%r12" is register 12 of "%r".
struct indexed_name {
  std::string_view prefix;
  std::optional<std::uint64_t> index;
};
indexed_name split_index(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  return {name.substr(0, digits), parse_number(name.substr(digits))};
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view s) {
  unsigned base = 10;
  if (s.substr(0, 2) == "0x" || s.substr(0, 2) == "0X") {
    base = 16;
    s.remove_prefix(2);
  }
  if (s.empty() || (base == 10 && s.size() > 1 && s.front() == '0'))
    return std::nullopt;  // octal numbers are not supported
  std::uint64_t value = 0;
  for (char const c : s) {
    unsigned const digit = is_digit(c)              ? static_cast<unsigned>(c - '0')
                           : (c >= 'a' && c <= 'f') ? static_cast<unsigned>(c - 'a') + 10
                           : (c >= 'A' && c <= 'F') ? static_cast<unsigned>(c - 'A') + 10
                                                    : base;
    if (digit >= base || value > (~std::uint64_t{0} - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

void names::enter_scope() {
  scopes_.push_back({current_scope_, {}, {}, {}});
  current_scope_ = static_cast<int>(scopes_.size()) - 1;
}

void names::leave_scope() {
  current_scope_ = scopes_[static_cast<std::size_t>(current_scope_)].parent;
}

void names::declare_registers(std::string_view declaration) {
  std::string_view rest = declaration;
  std::string_view const word = take_word(rest);
  type const t = word.substr(0, 1) == "." ? parse_type(word.substr(1)) : type::none;
  // 8-bit registers are not supported, so a register of one byte is always a predicate.
  if (t == type::none || (bytes_of(t) == 1 && t != type::pred) || rest.empty())
    throw fault("PTX: unsupported registers: `.reg " + std::string(declaration) + "`");
  scope& innermost = scopes_[static_cast<std::size_t>(current_scope_)];
  auto const bytes = static_cast<std::uint8_t>(bytes_of(t));
  for (std::string_view const name : split(rest, ',')) {
    std::size_t const bracket = name.find('<');
    bool const is_range = bracket != std::string_view::npos;
    auto const count = is_range ? parse_number(name.substr(bracket + 1, name.size() - bracket - 2))
                                : std::optional<std::uint64_t>(1);
    if (!count || *count > 1u << 24)
      throw fault("PTX: so many registers: `.reg " + std::string(declaration) + "`");
    (is_range ? innermost.ranges : innermost.registers)[name.substr(0, bracket)] = {
        registers_, static_cast<int>(*count), bytes};
    registers_ += static_cast<int>(*count);
  }
}

void names::declare_label(std::string_view name, int index) {
  if (!scopes_[static_cast<std::size_t>(current_scope_)].labels.emplace(name, index).second)
    throw fault("PTX: a second label " + std::string(name));
}

std::optional<operand> names::find_register(std::string_view name) {
  indexed_name const parts = split_index(name);
  for (int s = current_scope_; s >= 0; s = scopes_[static_cast<std::size_t>(s)].parent) {
    scope const& scope_names = scopes_[static_cast<std::size_t>(s)];
    if (auto const found = scope_names.registers.find(name); found != scope_names.registers.end())
      return operand{false, found->second.bytes, found->second.first};
    if (!parts.index) continue;
    auto const found = scope_names.ranges.find(parts.prefix);
    if (found == scope_names.ranges.end()) continue;
    register_range const& range = found->second;
    if (*parts.index < static_cast<std::uint64_t>(range.count))
      return operand{false, range.bytes, range.first + static_cast<int>(*parts.index)};
  }
  if (special_register(name) == nullptr) return std::nullopt;
  auto const entry = std::find_if(specials_.begin(), specials_.end(),
                                  [&](auto const& s) { return s.first == name; });
  if (entry != specials_.end()) return operand{false, 4, entry->second};
  specials_.emplace_back(name, registers_);
  return operand{false, 4, registers_++};  // special registers have 32 bits
}

names::variable const* names::find_variable(std::string_view name) const {
  auto const found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

operand names::discarded_register(std::size_t bytes) {
  return {false, static_cast<std::uint8_t>(bytes), registers_++};
}

operand names::intern_constant(std::uint64_t value, std::size_t bytes) {
  auto const [entry, inserted] =
      constant_rows_.try_emplace(value, static_cast<int>(constant_rows_.size()));
  if (inserted) constants_.insert(constants_.end(), warp_lanes, value);
  return {true, static_cast<std::uint8_t>(bytes), entry->second};
}

void names::resolve_branches(std::vector<instruction>& code) const {
  for (pending_branch const& b : branches_) {
    int& target = code[static_cast<std::size_t>(b.index)].target;
    for (int s = b.scope; s >= 0 && target < 0; s = scopes_[static_cast<std::size_t>(s)].parent) {
      auto const& labels = scopes_[static_cast<std::size_t>(s)].labels;
      if (auto const found = labels.find(b.label); found != labels.end()) target = found->second;
    }
    if (target < 0) throw fault("PTX: no label " + std::string(b.label));
  }
}

}  // namespace ptx
