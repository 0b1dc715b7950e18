// SPDX-License-Identifier: Apache-2.0
// Parses policies in C++ syntax, a name and optional numbers in braces: `ascending`,
// `half_half{4}`, `power{0, 12}`. Parsing does not depend on the locale.
#pragma once

#include "../array.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>
#ifndef __cpp_lib_to_chars
#  include <locale>
#  include <sstream>
#endif

namespace bindings {

/// One alternative of a policy: its name and how many parameters it accepts.
struct policy_alternative {
  char const* name;
  std::size_t min_parameters = 0, max_parameters = 0;
  char const* usage = nullptr;  // syntax for error messages; null if it is the name
};

/// A parsed policy: the index of its alternative, and its parameters.
class policy {
 public:
  /// Throws if the name is unknown or the number of parameters is wrong. Error messages begin
  /// with `kind`.
  policy(char const* kind, std::string const& text,
         std::initializer_list<policy_alternative> alternatives)
      : kind_(kind), text_(text) {
    std::size_t const brace = text.find('{');
    std::string_view const name = trimmed(std::string_view(text_).substr(0, brace));
    for (policy_alternative const& alternative : alternatives) {
      if (name == alternative.name) {
        if (brace != std::string::npos) parse_parameters(brace + 1);
        if (parameters_.size() < alternative.min_parameters ||
            parameters_.size() > alternative.max_parameters)
          throw_invalid(quoted() + ": write it as " + usage(alternative));
        return;
      }
      ++alternative_;
    }
    std::string known_usages;
    for (policy_alternative const& alternative : alternatives)
      known_usages += (known_usages.empty() ? "" : ", ") + usage(alternative);
    throw_invalid(quoted() + " is none of " + known_usages);
  }

  /// Index in the constructor's list of alternatives.
  std::size_t alternative() const { return alternative_; }
  std::size_t size() const { return parameters_.size(); }

  double real(std::size_t i, double fallback) const {
    return i < parameters_.size() ? parameters_[i].real : fallback;
  }
  index_t integer(std::size_t i, index_t fallback = 0) const {
    if (i >= parameters_.size()) return fallback;
    parameter const& n = parameters_[i];
    if (!n.is_integer || (n.bits >> 63 != 0) != n.is_negative)
      throw_invalid(quoted() + ": its numbers must be integers in -2^63..2^63-1");
    return static_cast<index_t>(n.bits);
  }
  /// A 64-bit seed: up to 2^64 - 1, or a negative number in two's complement.
  std::uint64_t bits(std::size_t i) const {
    if (i >= parameters_.size()) return 0;
    parameter const& n = parameters_[i];
    if (!n.is_integer) throw_invalid(quoted() + ": its seed must be an integer of 64 bits");
    return n.bits;
  }
  template <class Integer>
  std::vector<Integer> integers() const {
    std::vector<Integer> list;
    for (std::size_t i = 0; i < size(); ++i) {
      auto const value = integer(i);
      if (static_cast<index_t>(static_cast<Integer>(value)) != value)
        throw_invalid(kind_ + ": " + std::to_string(value) + " is out of range");
      list.push_back(static_cast<Integer>(value));
    }
    return list;
  }

 private:
  /// A parsed number; `bits` is its two's complement if it is a 64-bit integer.
  struct parameter {
    double real;
    std::uint64_t bits;
    bool is_integer, is_negative;
  };

  /// Returns the policy for error messages. Escapes NUL, which would truncate the message.
  std::string quoted() const {
    std::string escaped;
    for (char const c : text_) escaped += c == '\0' ? std::string("\\0") : std::string(1, c);
    return kind_ + " \"" + escaped + "\"";
  }
  static std::string usage(policy_alternative const& alternative) {
    return alternative.usage != nullptr ? alternative.usage : alternative.name;
  }
  static bool is_space(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }
  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
  }

  // Parses the parameters and the closing brace, "1, 2.5}", from position `first` on.
  void parse_parameters(std::size_t first) {
    std::string_view const parameters = trimmed(std::string_view(text_).substr(first));
    if (parameters.empty() || parameters.back() != '}') throw_syntax_error();
    std::string_view list = trimmed(parameters.substr(0, parameters.size() - 1));
    while (!list.empty()) {
      std::size_t const comma = list.find(',');
      parameters_.push_back(parse_parameter(trimmed(list.substr(0, comma))));
      if (comma == std::string_view::npos) return;
      list = trimmed(list.substr(comma + 1));
      if (list.empty()) throw_syntax_error();
    }
  }
  parameter parse_parameter(std::string_view word) const {
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
    bool const is_negative = !word.empty() && word.front() == '-';
    char const *const first = word.data(), *const last = first + word.size();
    if (std::int64_t value; is_fully_parsed(std::from_chars(first, last, value), last))
      return {static_cast<double>(value), static_cast<std::uint64_t>(value), true, value < 0};
    if (std::uint64_t value; is_fully_parsed(std::from_chars(first, last, value), last))
      return {static_cast<double>(value), value, true, false};
    double const real = parse_real(word);
    constexpr double max_exact = 9007199254740992;  // 2^53, for integers such as 4.0 and 1e3
    bool const is_integer = real == std::floor(real) && std::abs(real) <= max_exact;
    auto const value = is_integer ? static_cast<std::int64_t>(real) : 0;
    return {real, static_cast<std::uint64_t>(value), is_integer, is_negative && value != 0};
  }
  static bool is_fully_parsed(std::from_chars_result result, char const* last) {
    return result.ec == std::errc() && result.ptr == last;
  }
  double parse_real(std::string_view word) const {
    double value = 0;
#ifdef __cpp_lib_to_chars
    bool const is_valid = is_fully_parsed(
        std::from_chars(word.data(), word.data() + word.size(), value), word.data() + word.size());
#else
    // libc++ before LLVM 20 has no from_chars for floating-point numbers.
    std::istringstream stream{std::string(word)};
    stream.imbue(std::locale::classic());
    bool const is_valid = (stream >> std::noskipws >> value) && stream.peek() == EOF;
#endif
    if (!is_valid || !std::isfinite(value)) throw_syntax_error();
    return value;
  }
  [[noreturn]] void throw_syntax_error() const {
    throw_invalid(quoted() + " is not a name with numbers in braces");
  }

  std::string kind_, text_;
  std::vector<parameter> parameters_;
  std::size_t alternative_ = 0;
};

}  // namespace bindings
