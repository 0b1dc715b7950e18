// SPDX-License-Identifier: Apache-2.0
// ListOps: nested lists of operators and digits, generated from the published grammar.
#pragma once

#include "learning/random.hpp"
#include "learning/task.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace learning {

/// Tokens of ListOps's symbols; 0 is padding.
namespace listops_symbols {
inline constexpr char const* names[] = {"[MIN", "[MAX", "[MED", "[SM", "]", "0", "1", "2",
                                        "3",    "4",    "5",    "6",   "7", "8", "9"};
inline constexpr std::int32_t padding = 0, min = 1, max = 2, med = 3, sum = 4, close = 5,
                              digits = 6;  // digit d is `digits + d`
inline constexpr index_t operators = 4, count = 16;

inline bool is_operator(std::int32_t token) { return min <= token && token <= sum; }
inline bool is_digit(std::int32_t token) { return token >= digits; }
}  // namespace listops_symbols

/// Evaluates an operator: MED is the median, truncated to an integer; SM is the sum modulo 10.
/// Sorts the arguments.
inline int listops_value(std::int32_t op, int* arguments, int count) {
  using namespace listops_symbols;
  std::sort(arguments, arguments + count);
  int total = 0;
  for (int i = 0; i < count; ++i) total += arguments[i];
  switch (op) {
    case min:
      return arguments[0];
    case max:
      return arguments[count - 1];
    case med:
      return (arguments[(count - 1) / 2] + arguments[count / 2]) / 2;
    default:
      return total % 10;
  }
}

/// Trees of `shortest .. longest` tokens: one per digit and two per operator, its name and a
/// closing bracket. The Long Range Arena's trees have 501 to 1999 tokens. The class is the tree's
/// value.
///
/// `tree(depth)`, which starts at depth 1, draws an operator with probability 1/4 if the depth is
/// below 10, and a digit otherwise. An operator has 2 to 10 arguments, which are drawn before its
/// name (the Long Range Arena's `data/listops.py`). Attempt a of sample s uses random stream
/// `s 2^20 + a`. Attempts repeat until the length fits.
class listops final : public task {
 public:
  struct size_config {
    index_t shortest = 501, longest = 1999;
    std::uint64_t seed = 1;
    index_t training_samples = 96000, test_samples = 2000;
  };

  explicit listops(size_config size) : size_(size) {
    if (size.shortest < 1 || size.longest < size.shortest)
      throw task_error("listops: lengths must be 1 <= shortest <= longest");
  }

  sample_shape shape() const override { return {size_.longest, 0, listops_symbols::count, 10, 0}; }
  index_t size(split subset) const override {
    return subset == split::test ? size_.test_samples : size_.training_samples;
  }
  void write(split subset, index_t index, sample& result) const override {
    write_counting_attempts(subset, index, result);
  }

  /// Writes a sample and returns the number of rejected trees.
  index_t write_counting_attempts(split subset, index_t index, sample& result) const {
    index_t const sample_index = index + (subset == split::test ? first_test_sample : 0);
    for (index_t a = 0; a < max_attempts; ++a) {
      tree_writer w{
          random_stream(size_.seed, static_cast<std::uint64_t>(sample_index * max_attempts + a)),
          result.tokens, size_.longest};
      int const value = w.tree(1);
      if (w.length < size_.shortest || w.length > size_.longest) continue;
      std::fill(result.tokens + w.length, result.tokens + size_.longest, listops_symbols::padding);
      result.length = w.length, result.label = value;
      return a;
    }
    throw task_error("listops: no tree of such a length was found");
  }

 private:
  static constexpr index_t max_attempts = index_t{1} << 20;
  static constexpr int max_depth = 10, max_arguments = 10;

  // Draws one tree. Counts tokens past the maximum length, but does not write them.
  struct tree_writer {
    random_stream random;
    std::int32_t* tokens;
    index_t longest, length = 0;
    std::uint64_t draw_count = 0;  // random values drawn so far

    index_t uniform_below(index_t n) { return random.below(draw_count++, n); }
    index_t put(std::int32_t token) {
      if (length < longest) tokens[length] = token;
      return length++;
    }
    int tree(int depth) {
      using namespace listops_symbols;
      if (depth >= max_depth || uniform_below(4) != 0) {
        auto const digit = static_cast<int>(uniform_below(10));
        put(digits + digit);
        return digit;
      }
      index_t const position = put(padding);
      int const argument_count = 2 + static_cast<int>(uniform_below(max_arguments - 1));
      int arguments[max_arguments];
      for (int i = 0; i < argument_count; ++i) arguments[i] = tree(depth + 1);
      auto const op = static_cast<std::int32_t>(min + uniform_below(operators));
      if (position < longest) tokens[position] = op;
      put(close);
      return listops_value(op, arguments, argument_count);
    }
  };

  size_config size_;
};

/// Formats a sample: `[MAX 7 0 [MIN 3 4 ] ]`.
inline std::string listops_text(sample const& s) {
  std::string text;
  for (index_t i = 0; i < s.length; ++i)
    text += (i > 0 ? " " : "") +
            std::string(listops_symbols::names[static_cast<std::size_t>(s.tokens[i] - 1)]);
  return text;
}

}  // namespace learning
