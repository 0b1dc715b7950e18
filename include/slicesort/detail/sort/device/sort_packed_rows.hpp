// SPDX-License-Identifier: Apache-2.0
// Sorts the rows of a group in the registers of one thread, as packed keys that are decoded to
// values. Used by csp, which has no free shared memory. sort_row_words.hpp needs half the
// instructions, but keeps the values in shared memory.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/network.hpp>
#include <slicesort/dtype.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Bits of a value and its source row, in one register if both fit.
template <class Bits>
struct placed_value {
  SLICESORT_HD_INLINE void set(Bits value, std::uint32_t row) {
    value_ = value;
    row_ = row;
  }
  SLICESORT_HD_INLINE Bits value() const { return value_; }
  SLICESORT_HD_INLINE std::uint32_t row() const { return row_; }
  template <class Block>
  SLICESORT_HD_INLINE void keep_together() {}

  Bits value_;
  std::uint32_t row_;
};
template <>
struct placed_value<std::uint16_t> {
  SLICESORT_HD_INLINE void set(std::uint16_t value, std::uint32_t row) {
    packed_ = static_cast<std::uint32_t>(value) << 16 | row;
  }
  SLICESORT_HD_INLINE std::uint16_t value() const {
    return static_cast<std::uint16_t>(packed_ >> 16);
  }
  SLICESORT_HD_INLINE std::uint32_t row() const { return packed_ & 0xffffu; }
  // Keeps the compiler from splitting the register into two.
  template <class Block>
  SLICESORT_HD_INLINE void keep_together() {
    packed_ = static_cast<std::uint32_t>(Block::opaque(static_cast<int>(packed_)));
  }

  std::uint32_t packed_;
};

// Sorts the first `valid` of a thread's `length` rows. Rows is a power of two, at least the length.
// `column.read(first, bits)` loads values, and `column[i]` rereads one.
// `column.store_sources<Rows>(f)` receives the source row f(i) of every output row i, and, if
// column.needs_values(), `column.store_values<Rows>(f)` the bits f(i) of its value. All reads
// precede store_values.
template <class Block, class T, int Rows, class Column>
SLICESORT_HD_INLINE void sort_packed_rows(Column const& column, int length, int valid,
                                          bool ascending) {
  using keys = packed_key<T, Block::fast_double>;
  using bits = bits_t<T>;

  // Reads rows past `valid`, too, because a condition that all threads share is cheap.
  typename keys::type packed_keys[static_cast<std::size_t>(Rows)];
  bool lossy = false;
  SLICESORT_UNROLL
  for (int first = 0; first < Rows; first += rows_in_flight<Rows>)
    if (first < length) {
      bits value[static_cast<std::size_t>(rows_in_flight<Rows>)];
      column.read(first, value);
      SLICESORT_UNROLL
      for (int k = 0; k < rows_in_flight<Rows>; ++k) {
        int const i = first + k;
        lossy |= (i < valid) & key_alters<T>(value[k]);
        packed_keys[i] = i < valid ? keys::make(value[k], ascending, static_cast<std::uint32_t>(i))
                                   : keys::last();
      }
    } else {
      SLICESORT_UNROLL
      for (int k = 0; k < rows_in_flight<Rows>; ++k) packed_keys[first + k] = keys::last();
    }
  sort_keys<comparator<Block, keys>, Rows>(packed_keys);

  // Rows past `valid` stay in place.
  int const opaque_valid = Block::opaque(valid);
  placed_value<bits> sorted[static_cast<std::size_t>(Rows)];
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i)
    sorted[i].set(keys::value(packed_keys[i], ascending),
                  i < opaque_valid ? keys::row(packed_keys[i]) : static_cast<std::uint32_t>(i));
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
  column.template store_sources<Rows>([&](int i) { return sorted[i].row(); });
  if (!column.needs_values()) return;
  if (lossy || opaque_valid < length) {
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i)
      if (i < length && (i >= opaque_valid || key_loses<T>(sorted[i].value())))
        sorted[i].set(bit_cast<bits>(column[static_cast<int>(sorted[i].row())]), sorted[i].row());
  }
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
  column.template store_values<Rows>([&](int i) { return sorted[i].value(); });
}

SLICESORT_DETAIL_END
