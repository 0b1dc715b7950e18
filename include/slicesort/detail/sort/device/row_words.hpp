// SPDX-License-Identifier: Apache-2.0
// Rows of a short column as 32-bit words that two instructions put in order: the upper bits of the
// key above the row's number. A 16-bit key fits as a whole. A longer key is cut off; words whose
// keys were cut alike are in row order, which an insertion sort repairs. Few columns of random
// numbers need it.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Upper 32 bits of a key, or all 16 bits of a short key above zeros or ones.
template <class Block, class T>
SLICESORT_HD_INLINE std::uint32_t upper_key(bits_t<T> value) {
  if constexpr (is_upper_part_of_float<T>) {
    float const canonical = Block::canonicalize(upper_part_of_float<T>(value));
    auto const number = bit_cast<std::uint32_t>(canonical);
    return number ^ (sign_mask(number) | 0x80000000u);
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<std::uint32_t>(sortable_key<T>(value)) << 16;
  } else if constexpr (sizeof(T) == 4) {
    return sortable_key<T>(value);
  } else {
    return static_cast<std::uint32_t>(sortable_key<T>(value) >> 32);
  }
}

// Words of at most Rows rows, a power of two. They compare as unsigned integers.
template <class T, int Rows>
struct row_words {
  using type = std::uint32_t;
  using bits = bits_t<T>;
  static constexpr std::uint32_t rows_mask = static_cast<std::uint32_t>(Rows) - 1u;
  static constexpr bool cuts_keys = sizeof(T) > 2;

  // `flip`: ~0 for a descending column, else 0.
  template <class Block>
  static SLICESORT_HD_INLINE type make(bits value, std::uint32_t flip, std::uint32_t row) {
    return ((upper_key<Block, T>(value) ^ flip) & ~rows_mask) | row;
  }
  // Padding, which sorts after all words of smaller row numbers.
  static SLICESORT_HD_INLINE type behind(std::uint32_t row) { return ~rows_mask | row; }
  static SLICESORT_HD_INLINE std::uint32_t row(type w) { return w & rows_mask; }
  // True if two keys may differ only in bits that were cut off; `difference` is the XOR of their
  // words.
  static SLICESORT_HD_INLINE bool cut_alike(type difference) { return difference <= rows_mask; }
};

SLICESORT_DETAIL_END
