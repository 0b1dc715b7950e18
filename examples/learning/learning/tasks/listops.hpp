// SPDX-License-Identifier: Apache-2.0
// ListOps: nested lists of operators and digits, from the published grammar, of any length.
#pragma once

#include "learning/random.hpp"
#include "learning/task.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace learning {

/// The symbols of ListOps, as tokens from 1 on; 0 is padding.
namespace listops_symbols {
inline constexpr char const* names[] = {"[MIN", "[MAX", "[MED", "[SM", "]", "0", "1", "2",
                                        "3",    "4",    "5",    "6",   "7", "8", "9"};
inline constexpr std::int32_t padding = 0, min = 1, max = 2, med = 3, sum = 4, close = 5,
                              digits = 6;  // digit d is `digits + d`
inline constexpr index_t operators = 4, count = 16;

inline bool is_operator(std::int32_t token) { return min <= token && token <= sum; }
inline bool is_digit(std::int32_t token) { return token >= digits; }
}  // namespace listops_symbols

/// What an operator makes of its arguments: MED is the middle one, or the mean of the two middle
/// ones without its fraction; SM the sum modulo 10. Sorts the arguments.
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

/// Trees whose length, digits and two brackets for each operator, is in `shortest .. longest`; the
/// Long Range Arena's are 501 to 1999 long. The class is the tree's value.
///
/// `tree(depth)`, from depth 1: below depth 10 an operator with probability 1/4, with 2 to 10
/// arguments, which are drawn before the operator's name; else a digit (the Long Range Arena's
/// `data/listops.py`). Attempt a of sample s takes numbers of stream `s 2^20 + a`, in that order,
/// until a tree is of the right length.
class listops final : public task {
 public:
  struct size_of {
    index_t shortest = 501, longest = 1999;
    std::uint64_t seed = 1;
    index_t training_samples = 96000, test_samples = 2000;
  };

  explicit listops(size_of size) : size_(size) {
    if (size.shortest < 1 || size.longest < size.shortest)
      throw task_error("listops: lengths must be 1 <= shortest <= longest");
  }

  sample_shape shape() const override { return {size_.longest, 0, listops_symbols::count, 10, 0}; }
  index_t size(split from) const override {
    return from == split::test ? size_.test_samples : size_.training_samples;
  }
  void write(split from, index_t number, sample& to) const override { attempts(from, number, to); }

  /// As `write`; returns how many trees were drawn before the one that was kept.
  index_t attempts(split from, index_t number, sample& to) const {
    index_t const sample_number = number + (from == split::test ? first_test_sample : 0);
    for (index_t a = 0; a < most_attempts; ++a) {
      writer w{
          random_stream(size_.seed, static_cast<std::uint64_t>(sample_number * most_attempts + a)),
          to.tokens, size_.longest};
      int const value = w.tree(1);
      if (w.length < size_.shortest || w.length > size_.longest) continue;
      std::fill(to.tokens + w.length, to.tokens + size_.longest, listops_symbols::padding);
      to.length = w.length, to.label = value;
      return a;
    }
    throw task_error("listops: no tree of such a length was found");
  }

 private:
  static constexpr index_t most_attempts = index_t{1} << 20;
  static constexpr int deepest = 10, most_arguments = 10;

  // Draws one tree. Tokens past the longest are counted, not written.
  struct writer {
    random_stream random;
    std::int32_t* tokens;
    index_t longest, length = 0;
    std::uint64_t drawn = 0;

    index_t below(index_t n) { return random.below(drawn++, n); }
    index_t put(std::int32_t token) {
      if (length < longest) tokens[length] = token;
      return length++;
    }
    int tree(int depth) {
      using namespace listops_symbols;
      if (depth >= deepest || below(4) != 0) {
        auto const digit = static_cast<int>(below(10));
        put(digits + digit);
        return digit;
      }
      index_t const at = put(padding);
      int const count = 2 + static_cast<int>(below(most_arguments - 1));
      int arguments[most_arguments];
      for (int i = 0; i < count; ++i) arguments[i] = tree(depth + 1);
      auto const op = static_cast<std::int32_t>(min + below(operators));
      if (at < longest) tokens[at] = op;
      put(close);
      return listops_value(op, arguments, count);
    }
  };

  size_of size_;
};

/// A sample as it is printed: `[MAX 7 0 [MIN 3 4 ] ]`.
inline std::string listops_text(sample const& of) {
  std::string all;
  for (index_t i = 0; i < of.length; ++i)
    all += (i > 0 ? " " : "") +
           std::string(listops_symbols::names[static_cast<std::size_t>(of.tokens[i] - 1)]);
  return all;
}

}  // namespace learning
