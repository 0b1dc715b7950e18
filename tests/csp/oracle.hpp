// SPDX-License-Identifier: Apache-2.0
// Three reference implementations of csp for one column, from the definition alone: ranks by
// counting, std::stable_sort, and dense matrices. `reference` is the column whose order the groups
// follow, or null if the groups are sorted.
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

// Returns the shift modulo the number of rows, in 0..rows-1.
inline std::size_t wrapped_shift(index_t shift, std::size_t rows) {
  auto const n = static_cast<index_t>(rows);
  return n == 0 ? 0 : static_cast<std::size_t>((shift % n + n) % n);
}

// Calls f(first, end) for every group.
template <class F>
void for_each_group(std::size_t rows, index_t group, F const& f) {
  auto const group_rows = static_cast<std::size_t>(group);
  for (std::size_t first = 0; first < rows; first += std::min(group_rows, rows - first))
    f(first, first + std::min(group_rows, rows - first));
}

template <class T>
std::vector<T> slice(std::vector<T> const& v, std::size_t first, std::size_t end) {
  return {v.begin() + static_cast<std::ptrdiff_t>(first),
          v.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Oracle 1: shifts by the definition, `w[n] = x[(n - shift) mod rows]`, and counts ranks. The
// reference row of rank r receives the row of rank r.
template <class T>
csp_rows csp_by_ranks(csp_column const& c, std::vector<T> const& x,
                      std::vector<T> const* reference) {
  std::size_t const rows = x.size();
  csp_rows result{row_order(rows), row_order(rows)};
  std::size_t const shift = wrapped_shift(c.shift, rows);
  std::vector<std::uint32_t> source_of_shifted(rows);
  std::vector<T> w(rows);
  for (std::size_t n = 0; n < rows; ++n) {
    source_of_shifted[n] = static_cast<std::uint32_t>((n + rows - shift) % rows);
    w[n] = x[source_of_shifted[n]];
  }
  for_each_group(rows, c.group, [&](std::size_t first, std::size_t end) {
    row_order const sorted = argsort_by_ranks(slice(w, first, end), c.ascending);
    row_order rank_of_row(end - first);
    row_order const reference_order =
        reference == nullptr ? row_order() : argsort_by_ranks(slice(*reference, first, end));
    for (std::uint32_t r = 0; r < rank_of_row.size(); ++r)
      rank_of_row[reference == nullptr ? r : reference_order[r]] = r;
    for (std::size_t n = first; n < end; ++n) {
      result.order[n] = sorted[rank_of_row[n - first]];
      result.source[n] = source_of_shifted[first + result.order[n]];
    }
  });
  return result;
}

// Oracle 2: moves every row down by the shift and sorts groups stably. The k-th row of the sorted
// group moves to the position of the reference's k-th row.
template <class T>
csp_rows csp_by_sorting(csp_column const& c, std::vector<T> const& x,
                        std::vector<T> const* reference) {
  std::size_t const rows = x.size();
  csp_rows result{row_order(rows), row_order(rows)};
  std::vector<std::uint32_t> source_of_shifted(rows);
  std::vector<T> w(x);
  for (std::size_t n = 0; n < rows; ++n) {
    std::size_t shifted = n + wrapped_shift(c.shift, rows);
    if (shifted >= rows) shifted -= rows;
    source_of_shifted[shifted] = static_cast<std::uint32_t>(n);
    w[shifted] = x[n];
  }
  for_each_group(rows, c.group, [&](std::size_t first, std::size_t end) {
    row_order const sorted = argsort_by_stable_sort(slice(w, first, end), c.ascending);
    row_order const reference_order =
        reference == nullptr ? row_order() : argsort_by_stable_sort(slice(*reference, first, end));
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      std::size_t const destination = first + (reference == nullptr ? k : reference_order[k]);
      result.order[destination] = sorted[k];
      result.source[destination] = source_of_shifted[first + sorted[k]];
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
permutation_matrix group_sorting_matrix(std::vector<T> const& x, index_t group, bool ascending) {
  permutation_matrix result(x.size());
  for_each_group(x.size(), group, [&](std::size_t first, std::size_t end) {
    permutation_matrix const block = sorting_matrix(slice(x, first, end), ascending);
    for (std::size_t i = 0; i < block.size(); ++i)
      for (std::size_t j = 0; j < block.size(); ++j) result(first + i, first + j) = block(i, j);
  });
  return result;
}

// Oracle 3: the whole permutation as a matrix, `T S` for sorted groups and `R' T S` for aligned
// ones. T sorts the groups of the shifted column, and R those of the reference. S is the circular
// shift: a power of the matrix that moves every row down by one.
template <class T>
permutation_matrix csp_matrix(csp_column const& c, std::vector<T> const& x,
                              std::vector<T> const* reference) {
  permutation_matrix shift_by_one(x.size()), shift(x.size());
  for (std::size_t n = 0; n < x.size(); ++n) {
    shift_by_one(n, n == 0 ? x.size() - 1 : n - 1) = 1;
    shift(n, n) = 1;
  }
  for (std::size_t k = wrapped_shift(c.shift, x.size()); k > 0; --k)
    shift = product(shift_by_one, shift);
  permutation_matrix const sorting = group_sorting_matrix(shift.times(x), c.group, c.ascending);
  permutation_matrix const sorted = product(sorting, shift);
  if (reference == nullptr) return sorted;
  return product(transpose(group_sorting_matrix(*reference, c.group, true)), sorted);
}

}  // namespace support
