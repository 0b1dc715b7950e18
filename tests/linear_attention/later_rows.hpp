// SPDX-License-Identifier: Apache-2.0
// Causality checks: change later keys and values of a problem, and compare the earlier rows of the
// results.
#pragma once

#include "oracle.hpp"

#include <cstddef>
#include <vector>

namespace support {

// Returns the rows first .. last - 1 of every head.
template <class T>
std::vector<T> select_rows(std::vector<T> const& values, extents4 e, index_t first, index_t last) {
  std::vector<T> selected;
  for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
    if (first <= n && n < last) selected.push_back(values[linear_size::at(e, b, h, n, c)]);
  });
  return selected;
}

template <class T>
linear_problem<T> triple_rows_from(linear_problem<T> problem, index_t first_changed) {
  auto const triple_rows = [&](std::vector<T>& values, extents4 e) {
    for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
      T& x = values[linear_size::at(e, b, h, n, c)];
      if (n >= first_changed) x = from_double<T>(3 * static_cast<double>(decode(x).value));
    });
  };
  triple_rows(problem.k, problem.size.k());
  triple_rows(problem.v, problem.size.v());
  return problem;
}

// Returns "" if the results a and b differ from row `first_changed` on and not before, else a
// description of the error.
template <class T>
char const* causality_error(linear_problem<T> const& problem, index_t first_changed,
                            linear_results<T> const& a, linear_results<T> const& b) {
  index_t const length = problem.size.queries;
  if (!same_bits(select_rows(a.y, problem.size.y(), 0, first_changed),
                 select_rows(b.y, problem.size.y(), 0, first_changed)))
    return "y knows the future";
  if (!same_bits(select_rows(a.dq, problem.size.q(), 0, first_changed),
                 select_rows(b.dq, problem.size.q(), 0, first_changed)))
    return "dq knows the future";
  return same_bits(select_rows(a.y, problem.size.y(), first_changed, length),
                   select_rows(b.y, problem.size.y(), first_changed, length))
             ? "y does not look at keys"
             : "";
}

}  // namespace support
