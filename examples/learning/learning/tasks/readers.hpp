// SPDX-License-Identifier: Apache-2.0
// What a reader of ListOps gets who looks at little: the accuracies that a model must pass before
// one can say that it has learned more than that.
#pragma once

#include "learning/tasks/listops.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace learning {

/// Looks at part of a sample and gives the best answer for what it saw, as counted over samples to
/// learn from; for what was never seen, the best for the first token.
struct trivial_reader {
  char const* looks_at;
  std::uint64_t (*seen)(sample const&);
};

namespace detail {

// What stands directly in the outermost list.
struct outermost {
  std::int32_t op = 0;
  std::vector<int> digits, operators;  // sorted; operators are those of its sublists

  explicit outermost(sample const& of) : op(of.tokens[0]) {
    using namespace listops_symbols;
    int depth = 0;
    for (index_t i = 0; i < of.length; ++i) {
      std::int32_t const token = of.tokens[i];
      if (is_operator(token)) {
        if (depth++ == 1) operators.push_back(token);
      } else if (token == close) {
        --depth;
      } else if (depth == 1) {
        digits.push_back(token - listops_symbols::digits);
      }
    }
    std::sort(digits.begin(), digits.end());
    std::sort(operators.begin(), operators.end());
  }
  // All that its digits can tell: the extreme one, the sum, or the first three.
  std::uint64_t of_digits() const {
    using namespace listops_symbols;
    constexpr std::uint64_t none = 10;
    if (op == max || op == min)
      return digits.empty() ? none
                            : static_cast<std::uint64_t>(op == max ? digits.back() : digits[0]);
    std::uint64_t all = 0;
    if (op == sum) {
      for (int const d : digits) all += static_cast<std::uint64_t>(d);
      return all % 10;
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(3, digits.size()); ++i)
      all = all * 11 + static_cast<std::uint64_t>(digits[i]) + 1;
    return all;
  }
};

inline std::uint64_t nothing(sample const&) { return 0; }
inline std::uint64_t first_token(sample const& of) {
  return static_cast<std::uint64_t>(of.tokens[0]);
}
inline std::uint64_t extreme_digit(sample const& of) {
  outermost const o(of);
  bool const extreme = o.op == listops_symbols::max || o.op == listops_symbols::min;
  return (first_token(of) * 16 + (extreme ? o.of_digits() : 0)) * 16 + o.operators.size();
}
inline std::uint64_t next_operators(sample const& of) {
  outermost const o(of);
  std::uint64_t all = first_token(of) * 2048 + o.of_digits();
  for (int const op : o.operators) all = all * 5 + static_cast<std::uint64_t>(op);
  return all;
}

}  // namespace detail

inline constexpr trivial_reader trivial_readers[] = {
    {"nothing", detail::nothing},
    {"the first token", detail::first_token},
    {"first operator, its extreme digit, number of sublists", detail::extreme_digit},
    {"first operator, its digits, the next operators", detail::next_operators}};

/// The share of `tests` test samples that a reader gets right after `learned` samples.
inline double reader_accuracy(task const& of, trivial_reader const& reader, index_t learned,
                              index_t tests) {
  using counts = std::array<int, 10>;
  std::unordered_map<std::uint64_t, counts> by_seen, by_first;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(of.shape().length));
  sample s;
  s.tokens = tokens.data();
  for (index_t i = 0; i < learned; ++i) {
    of.write(split::training, i, s);
    auto const label = static_cast<std::size_t>(s.label);
    ++by_seen[reader.seen(s)][label];
    ++by_first[detail::first_token(s)][label];
  }
  index_t right = 0;
  for (index_t i = 0; i < tests; ++i) {
    of.write(split::test, i, s);
    auto const found = by_seen.find(reader.seen(s));
    counts const& counted =
        found != by_seen.end() ? found->second : by_first[detail::first_token(s)];
    right += std::max_element(counted.begin(), counted.end()) - counted.begin() == s.label ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(tests);
}

}  // namespace learning
