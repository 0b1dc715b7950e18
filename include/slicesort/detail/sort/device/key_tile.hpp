// SPDX-License-Identifier: Apache-2.0
// Tile of packed keys in shared memory, [width, rows]: the rows of a column are adjacent.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Inserts one free row after every 2^Levels rows, because neighboring threads read rows at
// multiples of 2^Levels, which would cause bank conflicts.
template <int Levels>
SLICESORT_HD constexpr int padded_row(int row) {
  return row + (row >> Levels);
}

// Columns are padded to a multiple of this. A thread holds 32 or 16 rows.
inline constexpr int tile_row_multiple = 32;

// Computes the distance between adjacent columns in a tile of `width` columns of `padded_rows`
// elements. It avoids bank conflicts between threads that read neighboring rows of all columns.
SLICESORT_HD constexpr int column_pitch(int padded_rows, int width, int element_bytes) {
  if (width == 1) return padded_rows;
  int const banks = 128 / element_bytes, target_bank = banks / width;
  return padded_rows + (target_bank + banks - padded_rows % banks) % banks;
}

template <class Keys, int Levels>
struct key_tile {
  using keys = Keys;
  using key = typename Keys::type;
  using high_type = typename Keys::high_type;

  high_type* high;
  std::uint16_t* low;
  int pitch;  // distance between adjacent columns

  template <class SharedAllocator>
  static SLICESORT_HD key_tile allocate(SharedAllocator& allocator, int rows, int width) {
    int const padded_rows = (rows + tile_row_multiple - 1) / tile_row_multiple * tile_row_multiple;
    int const pitch = column_pitch(padded_row<Levels>(padded_rows), width, sizeof(high_type));
    auto const count = static_cast<std::size_t>(pitch) * static_cast<std::size_t>(width);
    key_tile tile{allocator.template allocate<high_type>(count), nullptr, pitch};
    if constexpr (Keys::has_low) tile.low = allocator.template allocate<std::uint16_t>(count);
    return tile;
  }

  SLICESORT_HD int position(int row, int column) const {
    return column * pitch + padded_row<Levels>(row);
  }
  SLICESORT_HD_INLINE key load(int position) const {
    if constexpr (Keys::has_low)
      return Keys::join(high[position], low[position]);
    else
      return Keys::join(high[position], 0);
  }
  SLICESORT_HD_INLINE void store(int position, key packed) const {
    high[position] = Keys::high(packed);
    if constexpr (Keys::has_low) low[position] = Keys::low(packed);
  }

  // Replaces a packed key by the bits of a value and its row. Call only after the network has run.
  template <class Bits>
  SLICESORT_HD void store_value(int position, Bits value, std::uint32_t row) const {
    if constexpr (Keys::has_low) {
      high[position] = value;
      low[position] = static_cast<std::uint16_t>(row);
    } else {
      high[position] = static_cast<high_type>(value) << 16 | row;
    }
  }
  template <class Bits>
  SLICESORT_HD Bits value(int position) const {
    if constexpr (Keys::has_low)
      return high[position];
    else
      return static_cast<Bits>(high[position] >> 16);
  }
  SLICESORT_HD std::uint32_t row(int position) const {
    if constexpr (Keys::has_low)
      return low[position];
    else
      return high[position] & 0xffffu;
  }
};

SLICESORT_DETAIL_END
