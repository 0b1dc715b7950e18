// SPDX-License-Identifier: Apache-2.0
// Selects the k first rows of a column by key and row, in any instruction set.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sort/host/radix_transfer.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Key and row of up to 32 bits each, as one integer.
struct packed_candidate {
  std::uint64_t bits;

  packed_candidate() = default;
  packed_candidate(std::uint32_t key, std::uint32_t row) : bits(std::uint64_t{key} << 32 | row) {}
  std::uint32_t row() const { return static_cast<std::uint32_t>(bits); }
  bool operator<(packed_candidate other) const { return bits < other.bits; }
};
// 64-bit key and its row.
struct wide_candidate {
  std::uint64_t key;
  std::uint32_t index;

  wide_candidate() = default;
  wide_candidate(std::uint64_t new_key, std::uint32_t row) : key(new_key), index(row) {}
  std::uint32_t row() const { return index; }
  bool operator<(wide_candidate other) const {
    return key != other.key ? key < other.key : index < other.index;
  }
};
template <class T>
using selection_candidate = std::conditional_t<sizeof(T) == 8, wide_candidate, packed_candidate>;

// Elements that a vector of candidates may take past the last one.
inline constexpr std::size_t candidate_padding = 16;

// True if the k-th key of a column is found by a sort of all keys, without rows. That takes less
// time than a selection from the candidates of groups if k is a large part of the column.
constexpr bool finds_exact_bound(bool by_index, std::size_t rows, std::size_t k) {
  return by_index && k > rows / 8;
}

// Column to select from, and scratch memory.
template <class T>
struct column_selection {
  T const* x;           // contiguous values; null if `keys` has the keys already
  bits_t<T>* keys;      // [rows, padded by a vector]
  std::size_t rows, k;  // 0 < k <= rows
  bits_t<T> descending_mask;
  bool by_index, nan_last;
  unsigned char* minima;
  selection_candidate<T>* candidates;  // [rows + candidate_padding]
  selection_candidate<T>* sorted;      // [k]
  unsigned char* sort_scratch;

  bool bound_is_exact() const { return finds_exact_bound(by_index, rows, k); }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/top_k/host/select_rows.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

// Upper bound of the integers that lane_sort sorts in place of `count`.
constexpr std::size_t padded_sort_size(std::size_t count) {
  std::size_t size = 64;
  while (size < count) size *= 2;
  return size;
}
// Bytes of the rows of a lane_sort of `size` lanes, with the gaps between rows.
constexpr std::size_t lane_sort_bytes(std::size_t size, std::size_t lane_bytes) {
  return size * lane_bytes + size * lane_bytes / 256 + 64;
}

// Scratch memory of a thread for columns of `rows` elements.
template <class T>
struct selection_scratch {
  index_t pitch = 0;
  bits_t<T>* keys = nullptr;  // [columns, pitch]
  column_selection<T> column{};

  selection_scratch() = default;
  selection_scratch(arena& memory, index_t columns, index_t rows, index_t k, bool by_index)
      : pitch(transposed_pitch<T>(rows)),
        keys(memory.take<bits_t<T>>(amount(static_cast<std::size_t>(columns)) *
                                    static_cast<std::size_t>(pitch))) {
    auto const selected = static_cast<std::size_t>(k), count = static_cast<std::size_t>(rows);
    std::size_t groups = 1024;  // 32 lanes of 32 rows
    while (groups < (by_index ? count : 2 * selected)) groups *= 2;
    column.minima = memory.take<unsigned char>(lane_sort_bytes(groups, sizeof(T)));
    column.candidates = memory.take<selection_candidate<T>>(count + candidate_padding);
    column.sorted = memory.take<selection_candidate<T>>(selected);
    if (sizeof(T) < 8)
      column.sort_scratch =
          memory.take<unsigned char>(lane_sort_bytes(2 * padded_sort_size(selected), 8));
  }
};

// Sorts the first `count` candidates, and returns the first k of them.
template <class T>
selection_candidate<T> const* sort_candidates(isa set, column_selection<T> const& column,
                                              std::size_t count) {
  if constexpr (sizeof(T) == 8) {
    (void)set;
    std::sort(column.candidates, column.candidates + count);
    return column.candidates;
  } else {
    static_assert(sizeof(packed_candidate) == sizeof(std::uint64_t), "sorted as integers");
    with_isa(set, [&](auto target) {
      sort_integers(target, reinterpret_cast<std::uint64_t const*>(column.candidates), count,
                    column.sort_scratch, reinterpret_cast<std::uint64_t*>(column.sorted), column.k);
    });
    return column.sorted;
  }
}

// Returns the k selected candidates of a column, in the order of the output.
template <class T>
selection_candidate<T> const* select_rows(isa set, column_selection<T> const& column) {
  std::size_t count = 0;
  with_isa(set, [&](auto target) { count = collect_candidates(target, column); });
  if (column.bound_is_exact()) return column.candidates;
  selection_candidate<T>* const first = column.candidates;
  bool const many = padded_sort_size(count) > 2 * padded_sort_size(column.k);
  if (count > column.k && (column.by_index || many)) {
    std::nth_element(first, first + (column.k - 1), first + count);
    count = column.k;
  }
  if (column.by_index)
    for (std::size_t i = 0; i < count; ++i) first[i] = {0, first[i].row()};
  return sort_candidates(set, column, count);
}

SLICESORT_DETAIL_END
