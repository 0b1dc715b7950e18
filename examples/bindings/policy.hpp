// SPDX-License-Identifier: Apache-2.0
// Parses policies in C++ syntax, a name and optional numbers in braces: `ascending`,
// `half_half{4}`, `power{0, 12}`. Parsing does not depend on the locale.
#pragma once

#include "array.hpp"

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

/// One alternative of a policy: its name and the permitted number of parameters.
struct policy_form {
  char const* name;
  std::size_t min_numbers = 0, max_numbers = 0;
  char const* usage = nullptr;  // syntax for error messages; null: the name
};

/// A parsed policy: the index of its form, and its parameters.
class policy {
 public:
  /// Throws for an unknown name and for a wrong number of parameters. Error messages begin with
  /// `kind`.
  policy(char const* kind, std::string const& text, std::initializer_list<policy_form> forms)
      : kind_(kind), text_(text) {
    std::size_t const brace = text.find('{');
    std::string_view const name = trimmed(std::string_view(text_).substr(0, brace));
    for (policy_form const& form : forms) {
      if (name == form.name) {
        if (brace != std::string::npos) read_numbers(brace + 1);
        if (numbers_.size() < form.min_numbers || numbers_.size() > form.max_numbers)
          refuse(quoted() + ": write it as " + usage(form));
        return;
      }
      ++form_;
    }
    std::string known;
    for (policy_form const& form : forms) known += (known.empty() ? "" : ", ") + usage(form);
    refuse(quoted() + " is none of " + known);
  }

  /// Index of the form in the constructor's list.
  std::size_t form() const { return form_; }
  std::size_t size() const { return numbers_.size(); }

  double real(std::size_t i, double fallback) const {
    return i < numbers_.size() ? numbers_[i].real : fallback;
  }
  index_t integer(std::size_t i, index_t fallback = 0) const {
    if (i >= numbers_.size()) return fallback;
    number const& n = numbers_[i];
    if (!n.whole || (n.bits >> 63 != 0) != n.negative)
      refuse(quoted() + ": its numbers must be integers in -2^63..2^63-1");
    return static_cast<index_t>(n.bits);
  }
  /// A 64-bit seed: up to 2^64 - 1, or a negative number in two's complement.
  std::uint64_t bits(std::size_t i) const {
    if (i >= numbers_.size()) return 0;
    number const& n = numbers_[i];
    if (!n.whole) refuse(quoted() + ": its seed must be an integer of 64 bits");
    return n.bits;
  }
  template <class Integer>
  std::vector<Integer> integers() const {
    std::vector<Integer> list;
    for (std::size_t i = 0; i < size(); ++i) {
      auto const value = integer(i);
      if (static_cast<index_t>(static_cast<Integer>(value)) != value)
        refuse(kind_ + ": " + std::to_string(value) + " is out of range");
      list.push_back(static_cast<Integer>(value));
    }
    return list;
  }

 private:
  /// A number, and its two's complement bits if it is a 64-bit integer.
  struct number {
    double real;
    std::uint64_t bits;
    bool whole, negative;
  };

  /// Returns the policy for error messages. Escapes NUL, which would truncate the message.
  std::string quoted() const {
    std::string shown;
    for (char const c : text_) shown += c == '\0' ? std::string("\\0") : std::string(1, c);
    return kind_ + " \"" + shown + "\"";
  }
  static std::string usage(policy_form const& form) {
    return form.usage != nullptr ? form.usage : form.name;
  }
  static bool is_space(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }
  static std::string_view trimmed(std::string_view s) {
    while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
    return s;
  }

  // Parses the parameters and the closing brace, "1, 2.5}", from position `first` on.
  void read_numbers(std::size_t first) {
    std::string_view const rest = trimmed(std::string_view(text_).substr(first));
    if (rest.empty() || rest.back() != '}') refuse_syntax();
    std::string_view list = trimmed(rest.substr(0, rest.size() - 1));
    while (!list.empty()) {
      std::size_t const comma = list.find(',');
      numbers_.push_back(number_of(trimmed(list.substr(0, comma))));
      if (comma == std::string_view::npos) return;
      list = trimmed(list.substr(comma + 1));
      if (list.empty()) refuse_syntax();
    }
  }
  number number_of(std::string_view word) const {
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
    bool const negative = !word.empty() && word.front() == '-';
    char const *const first = word.data(), *const last = first + word.size();
    if (std::int64_t low; whole_word(std::from_chars(first, last, low), last))
      return {static_cast<double>(low), static_cast<std::uint64_t>(low), true, low < 0};
    if (std::uint64_t high; whole_word(std::from_chars(first, last, high), last))
      return {static_cast<double>(high), high, true, false};
    double const real = real_of(word);
    constexpr double exact = 9007199254740992;  // 2^53, for integers such as 4.0 and 1e3
    bool const whole = real == std::floor(real) && std::abs(real) <= exact;
    auto const value = whole ? static_cast<std::int64_t>(real) : 0;
    return {real, static_cast<std::uint64_t>(value), whole, negative && value != 0};
  }
  static bool whole_word(std::from_chars_result read, char const* last) {
    return read.ec == std::errc() && read.ptr == last;
  }
  double real_of(std::string_view word) const {
    double value = 0;
#ifdef __cpp_lib_to_chars
    bool const read = whole_word(std::from_chars(word.data(), word.data() + word.size(), value),
                                 word.data() + word.size());
#else
    // libc++ before LLVM 20 has no from_chars for floating-point numbers.
    std::istringstream stream{std::string(word)};
    stream.imbue(std::locale::classic());
    bool const read = (stream >> std::noskipws >> value) && stream.peek() == EOF;
#endif
    if (!read || !std::isfinite(value)) refuse_syntax();
    return value;
  }
  [[noreturn]] void refuse_syntax() const {
    refuse(quoted() + " is not a name with numbers in braces");
  }

  std::string kind_, text_;
  std::vector<number> numbers_;
  std::size_t form_ = 0;
};

}  // namespace bindings
