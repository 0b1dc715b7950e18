// SPDX-License-Identifier: Apache-2.0
// Baseline classifiers for ListOps, which use few features of a sample. A model has learned more
// only if its accuracy is higher.
#pragma once

#include "learning/progress.hpp"
#include "learning/tasks/listops.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

namespace learning {

/// Predicts the most frequent label of training samples with the same features. Falls back to the
/// first token for features that do not occur in training.
struct baseline_classifier {
  char const* name;
  std::uint64_t (*features)(sample const&);
};

namespace detail {

// The direct elements of the outermost list.
struct outermost_list {
  std::int32_t op = 0;
  std::vector<int> digits, operators;  // sorted; the operators of its sublists

  explicit outermost_list(sample const& s) : op(s.tokens[0]) {
    using namespace listops_symbols;
    int depth = 0;
    for (index_t i = 0; i < s.length; ++i) {
      std::int32_t const token = s.tokens[i];
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
  // Summarizes the digits for the operator: the extreme one, the sum, or the lowest three.
  std::uint64_t digit_code() const {
    using namespace listops_symbols;
    constexpr std::uint64_t none = 10;
    if (op == max || op == min)
      return digits.empty() ? none
                            : static_cast<std::uint64_t>(op == max ? digits.back() : digits[0]);
    std::uint64_t code = 0;
    if (op == sum) {
      for (int const d : digits) code += static_cast<std::uint64_t>(d);
      return code % 10;
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(3, digits.size()); ++i)
      code = code * 11 + static_cast<std::uint64_t>(digits[i]) + 1;
    return code;
  }
};

inline std::uint64_t no_features(sample const&) { return 0; }
inline std::uint64_t first_token(sample const& s) {
  return static_cast<std::uint64_t>(s.tokens[0]);
}
inline std::uint64_t extreme_digit(sample const& s) {
  outermost_list const list(s);
  bool const extreme = list.op == listops_symbols::max || list.op == listops_symbols::min;
  return (first_token(s) * 16 + (extreme ? list.digit_code() : 0)) * 16 + list.operators.size();
}
inline std::uint64_t next_operators(sample const& s) {
  outermost_list const list(s);
  std::uint64_t code = first_token(s) * 2048 + list.digit_code();
  for (int const op : list.operators) code = code * 5 + static_cast<std::uint64_t>(op);
  return code;
}

}  // namespace detail

inline constexpr baseline_classifier baseline_classifiers[] = {
    {"nothing", detail::no_features},
    {"the first token", detail::first_token},
    {"first operator, its extreme digit, number of sublists", detail::extreme_digit},
    {"first operator, its digits, the next operators", detail::next_operators}};

using baseline_accuracies = std::array<double, std::size(baseline_classifiers)>;

/// Returns the accuracies of all baseline classifiers, which see the same samples.
inline baseline_accuracies measure_baselines(task const& source, index_t training_samples,
                                             index_t test_samples) {
  using label_counts = std::array<int, 10>;
  std::unordered_map<std::uint64_t, label_counts> by_features[std::size(baseline_classifiers)];
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(source.shape().length));
  sample s;
  s.tokens = tokens.data();
  for (index_t i = 0; i < training_samples; ++i) {
    source.write(split::training, i, s);
    for (std::size_t k = 0; k < std::size(by_features); ++k)
      ++by_features[k][baseline_classifiers[k].features(s)][static_cast<std::size_t>(s.label)];
  }
  baseline_accuracies accuracies{};
  for (index_t i = 0; i < test_samples; ++i) {
    source.write(split::test, i, s);
    for (std::size_t k = 0; k < std::size(by_features); ++k) {
      auto const found = by_features[k].find(baseline_classifiers[k].features(s));
      label_counts const& counts =
          found != by_features[k].end() ? found->second : by_features[1][detail::first_token(s)];
      auto const predicted = std::max_element(counts.begin(), counts.end()) - counts.begin();
      accuracies[k] += predicted == s.label ? 1 : 0;
    }
  }
  for (double& accuracy : accuracies) accuracy /= static_cast<double>(test_samples);
  return accuracies;
}

/// Returns the accuracies of all baseline classifiers, which learn from all training samples, as a
/// line of JSON.
inline std::string baselines_as_json(task const& samples) {
  auto const accuracies =
      measure_baselines(samples, samples.size(split::training), samples.size(split::test));
  log_entry line("baselines");
  for (std::size_t k = 0; k < accuracies.size(); ++k)
    line.add(baseline_classifiers[k].name, accuracies[k]);
  return line.text();
}

}  // namespace learning
