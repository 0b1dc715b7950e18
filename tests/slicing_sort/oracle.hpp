// SPDX-License-Identifier: Apache-2.0
// Three independent oracles (slow reference implementations) of a column's stable argsort: counting
// ranks, std::stable_sort, and selection into a dense permutation matrix. Each returns the
// permutation `p` with `sorted[n] = column[p[n]]`.
#pragma once

#include "support/numbers.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace support {

using slicesort::index_t;
using row_order = std::vector<std::uint32_t>;

template <class T>
std::vector<number> decode_all(std::vector<T> const& column) {
  std::vector<number> values(column.size());
  std::transform(column.begin(), column.end(), values.begin(),
                 [](T const& element) { return decode(element); });
  return values;
}

// Oracle 1, O(N^2): the position of a row is the number of rows that must precede it.
template <class T>
row_order argsort_by_ranks(std::vector<T> const& column, bool ascending = true) {
  std::vector<number> const values = decode_all(column);
  row_order order(values.size());
  for (std::size_t row = 0; row < values.size(); ++row) {
    std::size_t rank = 0;
    for (std::size_t other = 0; other < values.size(); ++other) {
      bool const tied = !before(values[other], values[row], ascending) &&
                        !before(values[row], values[other], ascending);
      rank += before(values[other], values[row], ascending) || (tied && other < row);
    }
    order[rank] = static_cast<std::uint32_t>(row);
  }
  return order;
}

// Oracle 2, O(N log N): the standard library's stable sort.
template <class T>
row_order argsort_by_stable_sort(std::vector<T> const& column, bool ascending = true) {
  std::vector<number> const values = decode_all(column);
  row_order order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return before(values[a], values[b], ascending);
  });
  return order;
}

// Dense 0-1 matrix. Products multiply the bits of values as integers, which preserves NaN and
// infinity.
class permutation_matrix {
 public:
  explicit permutation_matrix(std::size_t size) : size_(size), entries_(size * size) {}
  explicit permutation_matrix(row_order const& order) : permutation_matrix(order.size()) {
    for (std::size_t n = 0; n < size_; ++n)
      if (order[n] < size_) entries_[n * size_ + order[n]] = 1;
  }

  unsigned char& operator()(std::size_t row, std::size_t column) {
    return entries_[row * size_ + column];
  }
  unsigned char operator()(std::size_t row, std::size_t column) const {
    return entries_[row * size_ + column];
  }
  std::size_t size() const { return size_; }

  template <class T>
  std::vector<T> times(std::vector<T> const& values) const {
    return product(values,
                   [this](std::size_t i, std::size_t j) { return entries_[i * size_ + j]; });
  }
  template <class T>
  std::vector<T> transpose_times(std::vector<T> const& values) const {
    return product(values,
                   [this](std::size_t i, std::size_t j) { return entries_[j * size_ + i]; });
  }

 private:
  template <class T, class Entry>
  std::vector<T> product(std::vector<T> const& values, Entry entry) const {
    std::vector<T> result(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      std::uint64_t sum = 0;
      for (std::size_t j = 0; j < size_; ++j) sum += entry(i, j) * bits_of(values[j]);
      result[i] = from_bits<T>(sum);
    }
    return result;
  }

  std::size_t size_;
  std::vector<unsigned char> entries_;
};

// Oracle 3: row n of P selects the first remaining row that no other remaining row precedes.
template <class T>
permutation_matrix sorting_matrix(std::vector<T> const& column, bool ascending = true) {
  std::vector<number> const values = decode_all(column);
  permutation_matrix p(values.size());
  std::vector<bool> taken(values.size());
  for (std::size_t n = 0; n < values.size(); ++n) {
    std::size_t best = values.size();
    for (std::size_t row = 0; row < values.size(); ++row)
      if (!taken[row] && (best == values.size() || before(values[row], values[best], ascending)))
        best = row;
    taken[best] = true;
    p(n, best) = 1;
  }
  return p;
}

}  // namespace support
