// SPDX-License-Identifier: Apache-2.0
// One thread sorts the rows of a group in its registers, as packed keys, from which it decodes the
// values. For csp, whose shared memory is full: columns of their own are sorted with half the
// instructions by sort_row_words.hpp, which fetches values from there.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/network.hpp>
#include <slicesort/detail/sort/device/register_rows.hpp>
#include <slicesort/dtype.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// What a packed key becomes: the bits of a value and its row, in one register where both fit.
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
    both_ = static_cast<std::uint32_t>(value) << 16 | row;
  }
  SLICESORT_HD_INLINE std::uint16_t value() const {
    return static_cast<std::uint16_t>(both_ >> 16);
  }
  SLICESORT_HD_INLINE std::uint32_t row() const { return both_ & 0xffffu; }
  // Without this the compiler splits the register again, and keeps both halves of every row.
  template <class Block>
  SLICESORT_HD_INLINE void keep_together() {
    both_ = static_cast<std::uint32_t>(Block::opaque(static_cast<int>(both_)));
  }

  std::uint32_t both_;
};

// Sorts the first `valid` of a thread's `length` rows. Rows is a power of two, at least the length.
// `rows` gives the values, by read(first, bits) and rows[i], and takes the results:
// put_numbers<Rows>(f) with f(i) the row that becomes row i and, if needs_values(),
// put_values<Rows>(f) with its bits. Everything is read before values are put.
template <class Block, class T, int Rows, class Column>
SLICESORT_HD_INLINE void sort_packed_rows(Column const& rows, int length, int valid,
                                          bool ascending) {
  using keys = packed_key<T, Block::fast_double>;
  using bits = bits_t<T>;

  // Rows past `valid` are read too, and left out: one condition for all threads is cheap.
  typename keys::type v[static_cast<std::size_t>(Rows)];
  bool lossy = false;
  SLICESORT_UNROLL
  for (int first = 0; first < Rows; first += register_group<Rows>)
    if (first < length) {
      bits value[static_cast<std::size_t>(register_group<Rows>)];
      rows.read(first, value);
      SLICESORT_UNROLL
      for (int k = 0; k < register_group<Rows>; ++k) {
        int const i = first + k;
        lossy |= (i < valid) & key_alters<T>(value[k]);
        v[i] = i < valid ? keys::make(value[k], ascending, static_cast<std::uint32_t>(i))
                         : keys::last();
      }
    } else {
      SLICESORT_UNROLL
      for (int k = 0; k < register_group<Rows>; ++k) v[first + k] = keys::last();
    }
  sort_keys<comparator<Block, keys>, Rows>(v);

  // Rows past the valid ones stay.
  int const kept = Block::opaque(valid);
  placed_value<bits> sorted[static_cast<std::size_t>(Rows)];
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i)
    sorted[i].set(keys::value(v[i], ascending),
                  i < kept ? keys::row(v[i]) : static_cast<std::uint32_t>(i));
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
  rows.template put_numbers<Rows>([&](int i) { return sorted[i].row(); });
  if (!rows.needs_values()) return;
  if (lossy || kept < length) {
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i)
      if (i < length && (i >= kept || key_loses<T>(sorted[i].value())))
        sorted[i].set(bit_cast<bits>(rows[static_cast<int>(sorted[i].row())]), sorted[i].row());
  }
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i) sorted[i].template keep_together<Block>();
  rows.template put_values<Rows>([&](int i) { return sorted[i].value(); });
}

SLICESORT_DETAIL_END
