// SPDX-License-Identifier: Apache-2.0
// Command line flags, `--name value`: CLI11 with bounds checks.
#pragma once

#include "learning/numbers.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace learning {

/// Error of the command line, with a message for the user.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Levenshtein distance of two words.
inline std::size_t edit_distance(std::string const& a, std::string const& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const substitution_cost = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitution_cost, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Lists up to eight keys of a map, those nearest to a misspelt word first.
template <class Value>
std::string list_nearest(std::string const& word, std::map<std::string, Value> const& words) {
  std::vector<std::string> names;
  for (auto const& entry : words) names.push_back(entry.first);
  std::stable_sort(names.begin(), names.end(), [&](auto const& a, auto const& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  constexpr std::size_t limit = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(limit, names.size()); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  return names.size() > limit ? text + ", .." : text;
}

/// Adds the flag `--name` for a number from `low` to `high`, described by `requirement`.
template <class T>
CLI::Option* add_bounded_number(CLI::App& app, std::string const& name, T& value, T low, T high,
                                std::string const& requirement) {
  auto const read = [=, &value](std::string const& text) {
    std::optional<T> const number = parse_number<T>(text);
    if (!number || !(*number >= low && *number <= high))  // a NaN fails both bounds
      throw usage_error("--" + name + " is '" + text + "', must be " + requirement);
    value = *number;
  };
  return app.add_option_function<std::string>("--" + name, read, requirement);
}
inline void add_number(CLI::App& app, std::string const& name, double& value) {
  add_bounded_number(app, name, value, 0.0, 1e15, "a number from 0 to 1e15");
}
inline void add_fraction(CLI::App& app, std::string const& name, double& value) {
  add_bounded_number(app, name, value, 0.0, 1 - 0x1p-53, "a number from 0 to below 1");
}
/// Adds a flag for an integer. The default maximum, 2^20, keeps tensor sizes within 63 bits.
template <class Integer>
CLI::Option* add_integer(CLI::App& app, std::string const& name, Integer& value,
                         std::common_type_t<Integer> low = 0,
                         std::common_type_t<Integer> high = Integer{1} << 20) {
  return add_bounded_number<Integer>(
      app, name, value, low, high,
      "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}
/// Adds a flag for one of several words, each with a value.
template <class E>
void add_choice(CLI::App& app, std::string const& name, E& value,
                std::map<std::string, std::common_type_t<E>> const& words) {
  auto const read = [=, &value](std::string const& text) {
    if (words.count(text) == 0)
      throw usage_error("--" + name + " is '" + text + "', must be one of " +
                        list_nearest(text, words));
    value = words.at(text);
  };
  app.add_option_function<std::string>("--" + name, read, "one of " + list_nearest("", words));
}

/// Parses a command line, calls `add_others()` to add flags that depend on its values, and parses
/// it again. Throws `usage_error`, also for unknown flags, or `CLI::CallForHelp`.
template <class F>
void read_flags(CLI::App& app, int count, char const* const* words, F const& add_others) {
  app.allow_extras()->set_help_flag();  // disables --help until all flags are known
  try {
    app.parse(count, words);
    add_others();
    app.set_help_flag("--help", "print this help");
    app.parse(count, words);
  } catch (CLI::CallForHelp const&) {
    throw;
  } catch (CLI::ParseError const& e) {
    throw usage_error(e.what());
  }
  if (app.remaining_size() == 0) return;
  std::string const unknown = app.remaining()[0];
  if (unknown.rfind("--", 0) != 0) throw usage_error("'" + unknown + "' is no flag");
  std::map<std::string, CLI::Option const*> known;
  for (CLI::Option const* option : app.get_options()) known[option->get_lnames()[0]] = option;
  throw usage_error("there is no flag " + unknown + "; there are " +
                    list_nearest(unknown.substr(2), known));
}

/// Returns the flags of the command line except `names`, sorted: `a=1 b=2`.
inline std::string flags_without(std::set<std::string> const& names, CLI::App const& app) {
  std::map<std::string, std::string> values;
  for (CLI::Option const* option : app.get_options())
    if (std::string const& name = option->get_lnames()[0]; *option && names.count(name) == 0)
      values[name] = option->results()[0];
  std::string text;
  for (auto const& [name, value] : values) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

}  // namespace learning
