// SPDX-License-Identifier: Apache-2.0
// Parts of an attention call to merge, the expected results, and their error bounds.
//
// u is half a unit in the accumulator's last place. For part p, with x = m_p - m and w = l_p
// exp(x):
// - The rounding of x changes exp(x) by |x| u; exp adds 4 u, the product u. A subnormal exp(x)
//   becomes 0, an error of l_p times the smallest normal number.
// - The error of l, a sum of up to 16 terms, is the sum of their errors plus 16 u l.
// - The error of w / l is the sum of both errors plus u; a term of y adds 16 u for the sums.
// - 16-bit results are rounded once more.
#pragma once

#include "support/backends.hpp"
#include "support/inputs.hpp"
#include "support/numbers.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/merge_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace support {

template <class T>
struct merge_problem {
  using A = ss::detail::accumulator_t<T>;
  extents4 e;
  std::vector<std::vector<T>> y;
  std::vector<std::vector<A>> state;

  std::size_t parts() const { return y.size(); }
  std::size_t rows() const { return static_cast<std::size_t>(e.batch * e.heads * e.length); }
  std::size_t values() const { return static_cast<std::size_t>(e.channels); }
  extents4 state_extents() const { return {e.batch, e.heads, e.length, 2}; }
  std::string describe() const {
    return std::string(type_name<T>()) + " [" + std::to_string(e.batch) + "," +
           std::to_string(e.heads) + "," + std::to_string(e.length) + "," +
           std::to_string(e.channels) + "] parts=" + std::to_string(parts());
  }
  std::uint64_t backend_seed() const {
    std::uint64_t n = random_stream::mix(sizeof(T) + parts());
    for (index_t extent : {e.batch, e.heads, e.length, e.channels})
      n = random_stream::mix(n ^ static_cast<std::uint64_t>(extent));
    return n;
  }
};

// Returns random parts with maxima of standard deviation `spread`. One row in five has no keys.
template <class T>
merge_problem<T> random_parts(extents4 e, std::size_t parts, std::uint64_t seed,
                              double spread = 3) {
  using A = ss::detail::accumulator_t<T>;
  random_stream random(seed);
  merge_problem<T> p{e, {}, {}};
  for (std::size_t i = 0; i < parts; ++i) {
    std::vector<T> y;
    std::vector<A> state;
    for (std::size_t row = 0; row < p.rows(); ++row) {
      bool const has_keys = random.below(5) != 0;
      state.push_back(has_keys ? static_cast<A>(spread * random.normal()) : minus_infinity<A>());
      state.push_back(has_keys ? static_cast<A>(1 + 99 * random.unit()) : A(0));
      for (std::size_t c = 0; c < p.values(); ++c)
        y.push_back(from_double<T>(has_keys ? random.normal() : 0));
    }
    p.y.push_back(y);
    p.state.push_back(state);
  }
  return p;
}

// Outputs: in separate memory, over the tensors of part 0, or without a saved state.
enum class merge_variant {
  separate_outputs,
  over_part_0,
  y_over_part_0,
  state_over_part_0,
  not_saved
};

template <class T>
struct merge_results {
  std::vector<T> y;
  std::vector<ss::detail::accumulator_t<T>> state;
  std::string error;  // description of invalid writes, or empty
};

// Runs merge_attention, and checks that it writes nothing else.
template <class T>
merge_results<T> run_merge(merge_problem<T> const& p, any_exec const& exec,
                           memory_layout layout = {},
                           merge_variant variant = merge_variant::separate_outputs) {
  using A = ss::detail::accumulator_t<T>;
  std::vector<strided_heads<T>> y;
  std::vector<strided_heads<A>> state;
  for (std::size_t i = 0; i < p.parts(); ++i) {
    int const layout_index = static_cast<int>(2 * i);
    y.emplace_back(p.e, p.y[i], layout.strides(p.e, layout_index), layout.shift(layout_index));
    state.emplace_back(p.state_extents(), p.state[i],
                       layout.strides(p.state_extents(), layout_index + 1),
                       layout.shift(layout_index + 1));
  }
  std::vector<ss::attention_part<T>> parts;
  for (std::size_t i = 0; i < p.parts(); ++i) parts.push_back({y[i].view(), state[i].view()});
  int const layout_index = static_cast<int>(2 * p.parts());
  strided_heads<T> separate_y(p.e, layout.strides(p.e, layout_index), layout.shift(layout_index));
  strided_heads<A> separate_state(p.state_extents(),
                                  layout.strides(p.state_extents(), layout_index + 1),
                                  layout.shift(layout_index + 1));
  bool const in_place = variant == merge_variant::over_part_0;
  strided_heads<T>& output =
      in_place || variant == merge_variant::y_over_part_0 ? y[0] : separate_y;
  strided_heads<A>& saved =
      in_place || variant == merge_variant::state_over_part_0 ? state[0] : separate_state;
  std::vector<A> const before = saved.contents();
  ss::merge_attention const op;
  if (variant == merge_variant::not_saved)
    op.forward(exec, parts, output.view(), ss::no_saved);
  else
    op.forward(exec, parts, output.view(), {saved.view()});

  merge_results<T> results{output.contents(), saved.contents(), {}};
  if (variant == merge_variant::not_saved && !same_bits(before, results.state))
    results.error = "saved a state";
  bool padding_intact = separate_y.padding_intact() && separate_state.padding_intact();
  for (std::size_t i = 0; i < p.parts(); ++i) {
    padding_intact = padding_intact && y[i].padding_intact() && state[i].padding_intact();
    if ((&y[i] != &output && !same_bits(y[i].contents(), p.y[i])) ||
        (&state[i] != &saved && !same_bits(state[i].contents(), p.state[i])))
      results.error = "wrote to part " + std::to_string(i);
  }
  if (!padding_intact) results.error = "wrote beside a tensor";
  return results;
}

// Compares results with the definition in long double. Returns "" or a description of the error.
template <class T>
std::string check_merged(merge_problem<T> const& p, merge_results<T> const& results) {
  using A = ss::detail::accumulator_t<T>;
  using limits = std::numeric_limits<A>;
  long double const u = limits::epsilon() / 2;
  auto const value = [](auto const& element) { return decode(element).value; };
  auto const compare = [&](std::string const& name, std::size_t row, long double actual,
                           long double expected, long double bound) {
    return std::fabs(actual - expected) <= bound
               ? std::string()
               : name + " of row " + std::to_string(row) + " is " + std::to_string(actual) +
                     ", must be " + std::to_string(expected) + " (bound " + std::to_string(bound) +
                     "): " + p.describe();
  };
  for (std::size_t row = 0; row < p.rows(); ++row) {
    // m and l of a part: see the top of this file.
    auto const m = [&](std::size_t i) { return value(p.state[i][2 * row]); };
    auto const l = [&](std::size_t i) { return value(p.state[i][2 * row + 1]); };
    bool has_keys = false;
    long double max_score = 0;
    for (std::size_t i = 0; i < p.parts(); ++i)
      if (l(i) != 0) max_score = has_keys ? std::max(max_score, m(i)) : m(i), has_keys = true;
    A const actual_max = results.state[2 * row], actual_sum = results.state[2 * row + 1];
    if (!has_keys) {
      if (!same_bits(actual_max, minus_infinity<A>()) || !same_bits(actual_sum, A(0)))
        return "the state of row " + std::to_string(row) +
               " must be (-infinity, 0), because it has no keys";
      for (std::size_t c = 0; c < p.values(); ++c)
        if (!same_bits(results.y[row * p.values() + c], from_double<T>(0)))
          return "row " + std::to_string(row) + " without keys is not 0";
      continue;
    }
    std::vector<long double> weight(p.parts()), error(p.parts());
    long double sum = 0, sum_error = 0;
    for (std::size_t i = 0; i < p.parts(); ++i) {
      if (l(i) == 0) continue;
      long double const x = m(i) - max_score;
      weight[i] = l(i) * std::exp(x);
      error[i] = weight[i] * u * (std::fabs(x) + 6) + l(i) * 2 * limits::min();
      sum += weight[i];
      sum_error += error[i];
    }
    sum_error += 16 * u * sum;
    std::string mismatch = compare("m", row, value(actual_max), max_score, 0);
    if (mismatch.empty()) mismatch = compare("l", row, value(actual_sum), sum, sum_error);
    for (std::size_t c = 0; mismatch.empty() && c < p.values(); ++c) {
      std::size_t const index = row * p.values() + c;
      long double expected = 0, bound = 4 * limits::min();
      for (std::size_t i = 0; i < p.parts(); ++i) {
        long double const y = value(p.y[i][index]), normalized = weight[i] / sum;
        expected += y * normalized;
        bound += std::fabs(y) * (error[i] / sum + normalized * (sum_error / sum + 18 * u));
      }
      // The rounding to 16 bits.
      constexpr number_format f = format_of<T>();
      if (sizeof(T) == 2)
        bound += std::ldexp(std::fabs(expected) + bound, -f.fraction_bits - 1) +
                 std::ldexp(1.0L, -f.bias() - f.fraction_bits);
      mismatch = compare("y", row, value(results.y[index]), expected, bound);
    }
    if (!mismatch.empty()) return mismatch;
  }
  return results.error;
}

}  // namespace support
