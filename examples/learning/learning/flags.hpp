// SPDX-License-Identifier: Apache-2.0
// Flags of a command line: `--name value`.
#pragma once

#include "learning/numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace learning {

/// A mistake in a call, in a sentence for the user.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How many letters must be changed, added or left out to make one word of another (Levenshtein).
inline std::size_t distance(std::string const& a, std::string const& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// The words of which one was probably meant, in a sentence: the nearest first, and no more than
/// can be read.
template <class Words>
std::string nearest_first(std::string const& word, Words const& words) {
  std::vector<std::string> sorted(words.begin(), words.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](auto const& a, auto const& b) {
    return distance(word, a) < distance(word, b);
  });
  constexpr std::size_t most = 8;
  std::string all;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    all += (i > 0 ? ", " : "") + sorted[i];
  return sorted.size() > most ? all + ", .." : all;
}

/// Reads flags, and notices those that nobody asked for.
class flags {
 public:
  flags(int count, char const* const* words) {
    for (int i = 1; i < count; ++i) {
      std::string const word = words[i];
      if (word.rfind("--", 0) != 0) throw usage_error("'" + word + "' is no flag");
      bool const has_value = i + 1 < count && std::string(words[i + 1]).rfind("--", 0) != 0;
      given_[word.substr(2)] = has_value ? words[++i] : "";
    }
  }

  bool has(std::string const& name) const { return known_.insert(name), given_.count(name) > 0; }
  std::string text(std::string const& name, std::string const& otherwise) const {
    return has(name) ? given_.at(name) : otherwise;
  }
  double number(std::string const& name, double otherwise) const {
    return within(name, otherwise, 0.0, 1e15, "a number from 0 to 1e15");
  }
  double fraction(std::string const& name, double otherwise) const {
    return within(name, otherwise, 0.0, 1 - 0x1p-53, "a number from 0 to below 1");
  }
  /// By default up to 2^20: with these, the sizes of a step's tensors fit 63 bits.
  template <class Integer>
  Integer whole(std::string const& name, Integer otherwise, Integer least = 0,
                Integer most = Integer{1} << 20) const {
    return within(name, otherwise, least, most,
                  "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  /// One of some words, each with what it stands for.
  template <class E>
  E choice(std::string const& name, std::vector<std::pair<char const*, E>> const& words,
           E otherwise) const {
    if (!has(name)) return otherwise;
    std::vector<std::string> all;
    for (auto const& [word, value] : words) {
      if (given_.at(name) == word) return value;
      all.push_back(word);
    }
    throw usage_error("--" + name + " is '" + given_.at(name) + "', must be one of " +
                      nearest_first(given_.at(name), all));
  }
  /// All that was given, but for some names: `a=1 b=2`, sorted.
  std::string without(std::set<std::string> const& names) const {
    std::string all;
    for (auto const& [name, value] : given_)
      if (names.count(name) == 0) all += (all.empty() ? "" : " ") + name + "=" + value;
    return all;
  }
  /// After all flags were asked for: the others are mistakes.
  void refuse_others() const {
    for (auto const& [name, value] : given_)
      if (known_.count(name) == 0)
        throw usage_error("there is no flag --" + name + "; there are " +
                          nearest_first(name, known_));
  }

 private:
  template <class T>
  T within(std::string const& name, T otherwise, T least, T most, std::string const& rule) const {
    if (!has(name)) return otherwise;
    std::optional<T> const value = number_in<T>(given_.at(name));
    if (value && *value >= least && *value <= most) return *value;
    throw usage_error("--" + name + " is '" + given_.at(name) + "', must be " + rule);
  }

  std::map<std::string, std::string> given_;
  mutable std::set<std::string> known_;
};

}  // namespace learning
