// SPDX-License-Identifier: Apache-2.0
// Three independent oracles for the order of a column: counting ranks, std::stable_sort, and
// selection into a dense permutation matrix. Each returns `p` with `sorted[n] = column[p[n]]`.
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
  std::vector<number> numbers(column.size());
  std::transform(column.begin(), column.end(), numbers.begin(),
                 [](T const& element) { return decode(element); });
  return numbers;
}

// Oracle 1, O(N^2): the position of a row is the number of rows that must precede it.
template <class T>
row_order argsort_by_ranks(std::vector<T> const& column, bool ascending = true) {
  std::vector<number> const v = decode_all(column);
  row_order order(v.size());
  for (std::size_t row = 0; row < v.size(); ++row) {
    std::size_t rank = 0;
    for (std::size_t other = 0; other < v.size(); ++other) {
      bool const tied =
          !before(v[other], v[row], ascending) && !before(v[row], v[other], ascending);
      rank += before(v[other], v[row], ascending) || (tied && other < row);
    }
    order[rank] = static_cast<std::uint32_t>(row);
  }
  return order;
}

// Oracle 2, O(N log N): the standard library's stable sort.
template <class T>
row_order argsort_by_stable_sort(std::vector<T> const& column, bool ascending = true) {
  std::vector<number> const v = decode_all(column);
  row_order order(v.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return before(v[a], v[b], ascending); });
  return order;
}

// Dense 0-1 matrix; products move the bits as integers, which preserves NaN and infinity.
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
  std::vector<T> times(std::vector<T> const& v) const {
    return product(v, [this](std::size_t i, std::size_t j) { return entries_[i * size_ + j]; });
  }
  template <class T>
  std::vector<T> transpose_times(std::vector<T> const& v) const {
    return product(v, [this](std::size_t i, std::size_t j) { return entries_[j * size_ + i]; });
  }

 private:
  template <class T, class Entry>
  std::vector<T> product(std::vector<T> const& v, Entry entry) const {
    std::vector<T> result(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      std::uint64_t sum = 0;
      for (std::size_t j = 0; j < size_; ++j) sum += entry(i, j) * bits_of(v[j]);
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
  std::vector<number> const v = decode_all(column);
  permutation_matrix p(v.size());
  std::vector<bool> taken(v.size());
  for (std::size_t n = 0; n < v.size(); ++n) {
    std::size_t best = v.size();
    for (std::size_t row = 0; row < v.size(); ++row)
      if (!taken[row] && (best == v.size() || before(v[row], v[best], ascending))) best = row;
    taken[best] = true;
    p(n, best) = 1;
  }
  return p;
}

}  // namespace support
