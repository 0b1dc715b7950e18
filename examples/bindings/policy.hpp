// SPDX-License-Identifier: Apache-2.0
// Policies as text, written as in C++: a name, and numbers in braces if there are any: `ascending`,
// `half_half{4}`, `power{0, 12}`.
#pragma once

#include "array.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

namespace bindings {

/// A name that a kind of policy has, with the least and the greatest number of its parameters.
struct policy_form {
  char const* name;
  std::size_t least = 0, most = 0;
  char const* usage = nullptr;  // what messages show; the name if null
};

/// A policy that was read: which form it has, and its numbers.
class policy {
 public:
  /// `kind` is what messages call it. Refuses a name that no form has, and wrong parameters.
  policy(char const* kind, std::string const& text, std::initializer_list<policy_form> forms)
      : kind_(kind), text_(text) {
    std::size_t const brace = text.find('{');
    std::string const name = trimmed(text.substr(0, brace));
    for (policy_form const& form : forms) {
      if (name == form.name) {
        if (brace != std::string::npos) read_numbers(brace);
        if (numbers_.size() < form.least || numbers_.size() > form.most)
          refuse(kind_ + " \"" + text + "\": write it as " + usage(form));
        return;
      }
      ++form_;
    }
    std::string known;
    for (policy_form const& form : forms) known += (known.empty() ? "" : ", ") + usage(form);
    refuse(kind_ + " \"" + text + "\" is none of " + known);
  }

  /// The place of its form in the list.
  std::size_t form() const { return form_; }
  std::size_t size() const { return numbers_.size(); }

  double real(std::size_t i, double otherwise) const {
    return i < numbers_.size() ? numbers_[i] : otherwise;
  }
  index_t integer(std::size_t i, index_t otherwise = 0) const {
    if (i >= numbers_.size()) return otherwise;
    double const whole = numbers_[i];
    if (whole != std::floor(whole) || std::abs(whole) > 9007199254740992.0)
      refuse(kind_ + " \"" + text_ + "\": its numbers must be integers of at most 2^53");
    return static_cast<index_t>(whole);
  }
  template <class Integer>
  std::vector<Integer> integers() const {
    std::vector<Integer> all;
    for (std::size_t i = 0; i < size(); ++i) {
      auto const number = integer(i);
      if (static_cast<index_t>(static_cast<Integer>(number)) != number)
        refuse(kind_ + ": " + std::to_string(number) + " is out of range");
      all.push_back(static_cast<Integer>(number));
    }
    return all;
  }

 private:
  static std::string usage(policy_form const& form) {
    return form.usage != nullptr ? form.usage : form.name;
  }
  static std::string trimmed(std::string const& s) {
    auto const space = [](unsigned char c) { return std::isspace(c) != 0; };
    auto const first = std::find_if_not(s.begin(), s.end(), space);
    auto const last = std::find_if_not(s.rbegin(), std::make_reverse_iterator(first), space);
    return {first, last.base()};
  }
  void read_numbers(std::size_t brace) {
    std::string const rest = trimmed(text_.substr(brace + 1));
    char const* at = rest.c_str();
    auto const skip = [&] {
      while (std::isspace(static_cast<unsigned char>(*at)) != 0) ++at;
    };
    skip();
    for (bool first = true; *at != '}'; first = false) {
      if (!first && *at++ != ',') unreadable();
      char* end = nullptr;
      double const number = std::strtod(at, &end);
      if (end == at || !std::isfinite(number)) unreadable();
      numbers_.push_back(number);
      at = end;
      skip();
    }
    if (at[1] != '\0') unreadable();
  }
  [[noreturn]] void unreadable() const {
    refuse(kind_ + " \"" + text_ + "\" is not a name with numbers in braces");
  }

  std::string kind_, text_;
  std::vector<double> numbers_;
  std::size_t form_ = 0;
};

}  // namespace bindings
