// SPDX-License-Identifier: Apache-2.0
// A causal problem whose keys and values change from some row on, and the rows that must not.
#pragma once

#include "oracle.hpp"

#include <cstddef>
#include <vector>

namespace support {

// Rows first .. last - 1 of every head.
template <class T>
std::vector<T> rows(std::vector<T> const& all, extents4 e, index_t first, index_t last) {
  std::vector<T> some;
  for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
    if (first <= n && n < last) some.push_back(all[linear_size::at(e, b, h, n, c)]);
  });
  return some;
}

template <class T>
linear_problem<T> with_threefold_rows(linear_problem<T> p, index_t from) {
  auto const change = [&](std::vector<T>& all, extents4 e) {
    for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
      T& x = all[linear_size::at(e, b, h, n, c)];
      if (n >= from) x = from_double<T>(3 * static_cast<double>(decode(x).value));
    });
  };
  change(p.k, p.size.k());
  change(p.v, p.size.v());
  return p;
}

// Whether results differ from row `from` on, and not before. Returns "" or what is wrong.
template <class T>
char const* only_later_rows_change(linear_problem<T> const& p, index_t from,
                                   linear_results<T> const& a, linear_results<T> const& b) {
  index_t const length = p.size.queries;
  if (!same_bits(rows(a.y, p.size.y(), 0, from), rows(b.y, p.size.y(), 0, from)))
    return "y knows the future";
  if (!same_bits(rows(a.dq, p.size.q(), 0, from), rows(b.dq, p.size.q(), 0, from)))
    return "dq knows the future";
  return same_bits(rows(a.y, p.size.y(), from, length), rows(b.y, p.size.y(), from, length))
             ? "y does not look at keys"
             : "";
}

}  // namespace support
