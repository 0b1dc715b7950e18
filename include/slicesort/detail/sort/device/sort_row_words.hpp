// SPDX-License-Identifier: Apache-2.0
// Sorts the rows of a short column in the registers of one thread, as 32-bit words: the high bits
// of the key above the row number. A compare-exchange of words takes two instructions. Values stay
// in staging memory. Results are gathered by row number, so every value keeps all of its bits.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sort/device/network.hpp>
#include <slicesort/dtype.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Returns the upper 32 bits of a key. A 16-bit key is padded below with zeros or ones.
template <class Block, class T>
SLICESORT_HD_INLINE std::uint32_t high_key_bits(bits_t<T> value) {
  if constexpr (is_float_prefix<T>) {
    float const canonical = Block::canonicalize(widen_to_float<T>(value));
    auto const float_bits = bit_cast<std::uint32_t>(canonical);
    return float_bits ^ (sign_mask(float_bits) | 0x80000000u);
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<std::uint32_t>(sortable_key<T>(value)) << 16;
  } else if constexpr (sizeof(T) == 4) {
    return sortable_key<T>(value);
  } else {
    return static_cast<std::uint32_t>(sortable_key<T>(value) >> 32);
  }
}

// Word of a row: the high bits of its key above its number, which is less than Rows (a power of
// two). Words compare as unsigned integers. Keys longer than 16 bits are truncated. If truncated
// keys tie, an insertion sort by the full keys follows; random data rarely needs it.
template <class T, int Rows>
struct row_word {
  using type = std::uint32_t;
  using bits = bits_t<T>;
  static constexpr std::uint32_t rows_mask = static_cast<std::uint32_t>(Rows) - 1u;
  static constexpr bool truncates_keys = sizeof(T) > 2;

  // `descending_mask`: ~0 for a descending column, else 0.
  template <class Block>
  static SLICESORT_HD_INLINE type make(bits value, std::uint32_t descending_mask,
                                       std::uint32_t row) {
    return ((high_key_bits<Block, T>(value) ^ descending_mask) & ~rows_mask) | row;
  }
  // Padding word, which sorts after all words with smaller row numbers.
  static SLICESORT_HD_INLINE type padding(std::uint32_t row) { return ~rows_mask | row; }
  static SLICESORT_HD_INLINE std::uint32_t row(type word) { return word & rows_mask; }
  // True if two truncated keys are equal; `difference` is the XOR of their words.
  static SLICESORT_HD_INLINE bool may_tie(type difference) { return difference <= rows_mask; }
};

// Row numbers of a column in shared memory, one byte each.
struct byte_row_order {
  std::uint8_t* rows;
  int stride;

  SLICESORT_HD_INLINE std::uint8_t& operator[](int i) const { return rows[i * stride]; }
};

// Stable insertion sort of row numbers by full key, key(row). Fast because the truncated keys are
// sorted already.
template <class Key>
SLICESORT_HD_INLINE void insertion_sort_rows(byte_row_order order, int count, Key const& key) {
  SLICESORT_NO_UNROLL
  for (int i = 1; i < count; ++i) {
    std::uint8_t const row = order[i];
    auto const row_key = key(row);
    int position = i;
    SLICESORT_NO_UNROLL
    for (; position > 0; --position) {
      std::uint8_t const previous_row = order[position - 1];
      if (!(row_key < key(previous_row))) break;
      order[position] = previous_row;
    }
    order[position] = row;
  }
}

// Returns the smallest XOR of two neighbors among the first `count` words.
template <std::size_t Rows>
SLICESORT_HD_INLINE std::uint32_t min_difference(std::uint32_t const (&words)[Rows], int count) {
  std::uint32_t minimum = ~0u;
  for_register_rows<static_cast<int>(Rows)>(count, [&](int i) {
    if (i == 0) return;
    std::uint32_t const difference = words[i] ^ words[i - 1];
    minimum = difference < minimum ? difference : minimum;
  });
  return minimum;
}

// Sorts the first `valid` of a thread's `length` rows. Rows is a power of two, at least the length.
// `column.read(first, bits)` loads values, and `column[i]` rereads one.
// `column.store<Rows>(source)` receives the result, where source(i) is the input row of output row
// i. `order` is scratch memory for `Rows` row numbers.
template <class Block, class T, int Rows, class Column>
SLICESORT_HD_INLINE void sort_row_words(Column const& column, byte_row_order order, int length,
                                        int valid, bool ascending) {
  using word = row_word<T, Rows>;
  using bits = bits_t<T>;
  std::uint32_t const descending_mask = ascending ? 0u : ~0u;
  std::uint32_t words[static_cast<std::size_t>(Rows)];
  SLICESORT_UNROLL
  for (int first = 0; first < Rows; first += rows_in_flight<Rows>) {
    if (first < length) {
      bits value[static_cast<std::size_t>(rows_in_flight<Rows>)];
      column.read(first, value);
      SLICESORT_UNROLL
      for (int k = 0; k < rows_in_flight<Rows>; ++k)
        words[first + k] = word::template make<Block>(value[k], descending_mask,
                                                      static_cast<std::uint32_t>(first + k));
    }
    if (valid < first + rows_in_flight<Rows>) {
      SLICESORT_UNROLL
      for (int i = first; i < first + rows_in_flight<Rows>; ++i)
        words[i] = i < valid ? words[i] : word::padding(static_cast<std::uint32_t>(i));
    }
  }
  sort_keys<comparator<Block, word>, Rows>(words);
  if constexpr (word::truncates_keys) {
    if (word::may_tie(min_difference(words, valid))) {
      SLICESORT_UNROLL
      for (int i = 0; i < Rows; ++i) order[i] = static_cast<std::uint8_t>(word::row(words[i]));
      insertion_sort_rows(order, valid, [&](int row) {
        return column_key<T>(bit_cast<bits>(column[row]), ascending);
      });
      SLICESORT_UNROLL
      for (int i = 0; i < Rows; ++i) words[i] = order[i];
    }
  }
  column.template store<Rows>([&](int i) { return word::row(words[i]); });
}

SLICESORT_DETAIL_END
