// SPDX-License-Identifier: Apache-2.0
// Causality checks: changes later keys and values of a problem and compares the rows that must stay
// the same.
#pragma once

#include "oracle.hpp"

#include <cstddef>
#include <vector>

namespace support {

// Returns rows first .. last - 1 of every head.
template <class T>
std::vector<T> rows(std::vector<T> const& values, extents4 e, index_t first, index_t last) {
  std::vector<T> selected;
  for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
    if (first <= n && n < last) selected.push_back(values[linear_size::at(e, b, h, n, c)]);
  });
  return selected;
}

template <class T>
linear_problem<T> with_threefold_rows(linear_problem<T> problem, index_t first_changed) {
  auto const change = [&](std::vector<T>& values, extents4 e) {
    for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
      T& x = values[linear_size::at(e, b, h, n, c)];
      if (n >= first_changed) x = from_double<T>(3 * static_cast<double>(decode(x).value));
    });
  };
  change(problem.k, problem.size.k());
  change(problem.v, problem.size.v());
  return problem;
}

// Returns "" if results differ from row `first_changed` on and not before; otherwise a description
// of the error.
template <class T>
char const* only_later_rows_change(linear_problem<T> const& problem, index_t first_changed,
                                   linear_results<T> const& a, linear_results<T> const& b) {
  index_t const length = problem.size.queries;
  if (!same_bits(rows(a.y, problem.size.y(), 0, first_changed),
                 rows(b.y, problem.size.y(), 0, first_changed)))
    return "y knows the future";
  if (!same_bits(rows(a.dq, problem.size.q(), 0, first_changed),
                 rows(b.dq, problem.size.q(), 0, first_changed)))
    return "dq knows the future";
  return same_bits(rows(a.y, problem.size.y(), first_changed, length),
                   rows(b.y, problem.size.y(), first_changed, length))
             ? "y does not look at keys"
             : "";
}

}  // namespace support
