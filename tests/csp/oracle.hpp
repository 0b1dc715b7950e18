// SPDX-License-Identifier: Apache-2.0
// Three oracles for one column of CSP, from the definition alone: ranks by counting,
// std::stable_sort, and dense matrices. `leader` is the column whose order the groups follow, or
// null if the groups are sorted.
#pragma once

#include "slicing_sort/oracle.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

// Row n of the output is row `order[n]` of its group of the shifted column, and row `source[n]` of
// the column itself.
struct csp_rows {
  row_order order, source;
};

// Shift, group size and direction of one column. The shift may be any integer.
struct csp_column {
  index_t shift = 0;
  index_t group = 1;
  bool ascending = true;
};

// Returns the shift modulo the rows, in 0..rows-1.
inline std::size_t steps_down(index_t shift, std::size_t rows) {
  auto const n = static_cast<index_t>(rows);
  return n == 0 ? 0 : static_cast<std::size_t>((shift % n + n) % n);
}

// Calls f(first, end) for every group.
template <class F>
void for_each_group(std::size_t rows, index_t group, F const& f) {
  auto const step = static_cast<std::size_t>(group);
  for (std::size_t first = 0; first < rows; first += std::min(step, rows - first))
    f(first, first + std::min(step, rows - first));
}

template <class T>
std::vector<T> slice(std::vector<T> const& v, std::size_t first, std::size_t end) {
  return {v.begin() + static_cast<std::ptrdiff_t>(first),
          v.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Oracle 1: shifts by the definition, `w[n] = v[(n - shift) mod rows]`, and counts ranks. The
// leader's row of rank r receives the row of rank r.
template <class T>
csp_rows csp_by_ranks(csp_column const& c, std::vector<T> const& v, std::vector<T> const* leader) {
  std::size_t const rows = v.size();
  csp_rows result{row_order(rows), row_order(rows)};
  std::size_t const shift = steps_down(c.shift, rows);
  std::vector<std::uint32_t> from(rows);
  std::vector<T> w(rows);
  for (std::size_t n = 0; n < rows; ++n) {
    from[n] = static_cast<std::uint32_t>((n + rows - shift) % rows);
    w[n] = v[from[n]];
  }
  for_each_group(rows, c.group, [&](std::size_t first, std::size_t end) {
    row_order const sorted = argsort_by_ranks(slice(w, first, end), c.ascending);
    row_order rank(end - first);
    row_order const lead =
        leader == nullptr ? row_order() : argsort_by_ranks(slice(*leader, first, end));
    for (std::uint32_t r = 0; r < rank.size(); ++r) rank[leader == nullptr ? r : lead[r]] = r;
    for (std::size_t n = first; n < end; ++n) {
      result.order[n] = sorted[rank[n - first]];
      result.source[n] = from[first + result.order[n]];
    }
  });
  return result;
}

// Oracle 2: moves every row down by the shift and sorts groups stably. The k-th row of the sorted
// group moves to the position of the leader's k-th row.
template <class T>
csp_rows csp_by_sorting(csp_column const& c, std::vector<T> const& v,
                        std::vector<T> const* leader) {
  std::size_t const rows = v.size();
  csp_rows result{row_order(rows), row_order(rows)};
  std::vector<std::uint32_t> from(rows);
  std::vector<T> w(v);
  for (std::size_t n = 0; n < rows; ++n) {
    std::size_t to = n + steps_down(c.shift, rows);
    if (to >= rows) to -= rows;
    from[to] = static_cast<std::uint32_t>(n);
    w[to] = v[n];
  }
  for_each_group(rows, c.group, [&](std::size_t first, std::size_t end) {
    row_order const sorted = argsort_by_stable_sort(slice(w, first, end), c.ascending);
    row_order const lead =
        leader == nullptr ? row_order() : argsort_by_stable_sort(slice(*leader, first, end));
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      std::size_t const to = first + (leader == nullptr ? k : lead[k]);
      result.order[to] = sorted[k];
      result.source[to] = from[first + sorted[k]];
    }
  });
  return result;
}

inline permutation_matrix product(permutation_matrix const& a, permutation_matrix const& b) {
  permutation_matrix result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t j = 0; j < a.size(); ++j)
        result(i, j) = static_cast<unsigned char>(result(i, j) + a(i, k) * b(k, j));
  return result;
}
inline permutation_matrix transpose(permutation_matrix const& a) {
  permutation_matrix result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j) result(j, i) = a(i, j);
  return result;
}

// Block-diagonal matrix that sorts the groups of a column.
template <class T>
permutation_matrix group_sorting_matrix(std::vector<T> const& v, index_t group, bool ascending) {
  permutation_matrix t(v.size());
  for_each_group(v.size(), group, [&](std::size_t first, std::size_t end) {
    permutation_matrix const block = sorting_matrix(slice(v, first, end), ascending);
    for (std::size_t i = 0; i < block.size(); ++i)
      for (std::size_t j = 0; j < block.size(); ++j) t(first + i, first + j) = block(i, j);
  });
  return t;
}

// Oracle 3: the whole permutation as a matrix, `T S` for sorted groups and `R' T S` for aligned
// ones, where R sorts the leader's groups. S is the circular shift: a power of the matrix that
// moves every row down by one.
template <class T>
permutation_matrix csp_matrix(csp_column const& c, std::vector<T> const& v,
                              std::vector<T> const* leader) {
  permutation_matrix one_down(v.size()), shift(v.size());
  for (std::size_t n = 0; n < v.size(); ++n) {
    one_down(n, n == 0 ? v.size() - 1 : n - 1) = 1;
    shift(n, n) = 1;
  }
  for (std::size_t k = steps_down(c.shift, v.size()); k > 0; --k) shift = product(one_down, shift);
  permutation_matrix const t = group_sorting_matrix(shift.times(v), c.group, c.ascending);
  permutation_matrix const sorted = product(t, shift);
  if (leader == nullptr) return sorted;
  return product(transpose(group_sorting_matrix(*leader, c.group, true)), sorted);
}

}  // namespace support
